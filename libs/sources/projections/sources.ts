import { ERASED } from '#kernel/sealing.js';
import { projection, when } from '#projections/projection.js';
import type { Reads } from '#projections/read-database.js';
import { sourceCodec } from '../domain/source.events.js';
import { erasedOf, type Erased } from './subject-queries.js';

/** Captured sources without their text. */
export const sources = projection(
  'sources',
  2,
  {
    source: `CREATE TABLE source (
      workspace TEXT NOT NULL, id TEXT NOT NULL, sha256 TEXT NOT NULL, blob TEXT, subject TEXT, title TEXT NOT NULL,
      type TEXT NOT NULL, document TEXT, uri TEXT, author TEXT, occurred_at TEXT, position INTEGER NOT NULL, recorded_at TEXT NOT NULL,
      PRIMARY KEY (workspace, id)) WITHOUT ROWID`,
    source_tally: `CREATE TABLE source_tally (workspace TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID`,
  },
  when(sourceCodec, {
    SourceCaptured(tables, data, meta) {
      tables.run(
        'INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        meta.workspace,
        data.source_id,
        data.sha256,
        data.blob ?? null,
        data.subject ?? null,
        data.title,
        data.type,
        data.document ?? null,
        data.uri ?? null,
        data.author ?? null,
        data.occurred_at ?? null,
        meta.position,
        meta.recordedAt,
      );
      tables.run(
        'INSERT INTO source_tally VALUES (?, 1) ON CONFLICT (workspace) DO UPDATE SET n = n + 1',
        meta.workspace,
      );
    },
  }),
);

export interface SourceView {
  source_id: string;
  title: string;
  type: string;
  sha256: string;
  /** Opaque id of whom it is about, where one was declared. */
  subject?: string;
  document?: string;
  uri?: string;
  author?: string;
  occurred_at?: string;
  recorded_at: string;
  /** The erasure that took its texts. */
  erased?: Erased;
}

export function sourceView(reads: Reads, workspace: string, id: string): SourceView | undefined {
  const row = reads.get('SELECT * FROM source WHERE workspace = ? AND id = ?', workspace, id);
  if (!row) return undefined;
  const text = (column: string): string => row[column] as string;
  const erased = text('title') === ERASED ? erasedOf(reads, workspace, 'source', id) : undefined;
  return {
    source_id: id,
    title: text('title'),
    type: text('type'),
    sha256: text('sha256'),
    ...(row['subject'] === null ? {} : { subject: text('subject') }),
    ...(row['document'] === null ? {} : { document: text('document') }),
    ...(row['uri'] === null ? {} : { uri: text('uri') }),
    ...(row['author'] === null ? {} : { author: text('author') }),
    ...(row['occurred_at'] === null ? {} : { occurred_at: text('occurred_at') }),
    recorded_at: text('recorded_at'),
    ...(erased ? { erased } : {}),
  };
}

/** How the text of a source is stored; undefined where there is no such source. */
export function sourceText(
  reads: Reads,
  workspace: string,
  id: string,
): { sha256: string; blob?: string } | undefined {
  const row = reads.get(
    'SELECT sha256, blob FROM source WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  if (!row) return undefined;
  const blob = row['blob'] as string | null;
  return { sha256: row['sha256'] as string, ...(blob === null ? {} : { blob }) };
}

/** When the ledger came to know a source: log position, and milliseconds. */
export function sourceRecorded(
  reads: Reads,
  workspace: string,
  id: string,
): { position: number; ms: number } | undefined {
  const row = reads.get(
    'SELECT position, recorded_at FROM source WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  return (
    row && {
      position: row['position'] as number,
      ms: Date.parse(row['recorded_at'] as string),
    }
  );
}

export function sourceCount(reads: Reads, workspace: string): number {
  return (reads.get('SELECT n FROM source_tally WHERE workspace = ?', workspace)?.['n'] ??
    0) as number;
}
