import type { Reads, Row } from '#projections/read-database.js';
import { keysOf } from '../domain/subject.js';
import type { ErasureReason, SubjectData, Touched } from '../domain/subject.events.js';
import { subjects, type UseKind } from './subjects.js';

export interface ErasureView {
  id: string;
  key: string;
  /** All that it destroyed. */
  keys: string[];
  of: 'principal' | undefined;
  reason: ErasureReason;
  reference: string | undefined;
  touched: Touched;
  sources: string[];
  requestedBy: string | undefined;
  by: string;
  at: string;
  position: number;
}

function erasureOf(row: Row): ErasureView {
  const data = JSON.parse(row['body'] as string) as SubjectData<'SubjectErased'>;
  return {
    id: data.erasure,
    key: data.key,
    keys: keysOf(data),
    of: data.of,
    reason: data.reason,
    reference: data.reference,
    touched: data.touched,
    sources: data.sources,
    requestedBy: data.requested_by,
    by: row['actor'] as string,
    at: row['recorded_at'] as string,
    position: row['position'] as number,
  };
}

export function erasureById(reads: Reads, workspace: string, id: string): ErasureView | undefined {
  const row = reads.get(
    'SELECT * FROM subject_erased WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  return row && erasureOf(row);
}

/** In the order of recording, after a position. */
export function erasureList(
  reads: Reads,
  workspace: string,
  { key, after, limit }: { key: string | undefined; after: number; limit: number },
): ErasureView[] {
  return reads
    .all(
      `SELECT * FROM subject_erased WHERE workspace = ?1 AND position > ?2 AND (?3 IS NULL OR key = ?3)
        ORDER BY position LIMIT ?4`,
      workspace,
      after,
      key ?? null,
      limit,
    )
    .map(erasureOf);
}

/** Where a text went that is shown as erased. */
export interface Erased {
  at: string;
  erasure: string;
  reason: ErasureReason;
}

/** The erasure that took a source's or decision's words; undefined while it has them. */
export function erasedOf(
  reads: Reads,
  workspace: string,
  kind: UseKind,
  ref: string,
): Erased | undefined {
  // Nearly everywhere nothing is erased, and most of what is read is not.
  const none = reads.memo(
    subjects,
    `nothing erased ${workspace}`,
    () => !reads.get('SELECT 1 FROM subject_erased WHERE workspace = ? LIMIT 1', workspace),
  );
  if (none) return undefined;
  const row = reads.get(
    `SELECT e.* FROM subject_use u JOIN subject_erased e ON e.workspace = u.workspace AND e.key = u.key
      WHERE u.workspace = ? AND u.kind = ? AND u.ref = ? ORDER BY e.position LIMIT 1`,
    workspace,
    kind,
    ref,
  );
  if (!row) return undefined;
  const { at, id, reason } = erasureOf(row);
  return { at, erasure: id, reason };
}

/** Every key that was erased, of whichever workspace. */
export function erasedKeys(reads: Reads): string[] {
  return reads
    .all('SELECT body FROM subject_erased')
    .flatMap((row) => keysOf(JSON.parse(row['body'] as string) as SubjectData<'SubjectErased'>));
}

const COUNTED: Readonly<Record<UseKind, keyof Touched>> = {
  source: 'sources',
  decision: 'decisions',
  answer: 'answers',
  job: 'jobs',
  other: 'others',
};

/** A key, and a workspace in which it seals. */
export type Use = readonly [workspace: string, key: string];

/** How much some keys seal together. What is `other` is named by its stream, which may be written to from several workspaces. */
export function touchedBy(reads: Reads, uses: readonly Use[]): Touched {
  const touched: Touched = { sources: 0, decisions: 0, answers: 0, jobs: 0, others: 0 };
  for (const row of reads.all(
    `SELECT u.kind, count(DISTINCT CASE u.kind WHEN 'other' THEN u.ref ELSE u.workspace || ' ' || u.ref END) AS n
       FROM json_each(?) j CROSS JOIN subject_use u ON u.workspace = j.value ->> 0 AND u.key = j.value ->> 1
      GROUP BY u.kind`,
    JSON.stringify(uses),
  ))
    touched[COUNTED[row['kind'] as UseKind]] = row['n'] as number;
  return touched;
}

/** Whose text a source is; undefined where there is no such source. */
export function subjectOfSource(
  reads: Reads,
  workspace: string,
  id: string,
): { subject: string | undefined } | undefined {
  const row = reads.get('SELECT subject FROM source WHERE workspace = ? AND id = ?', workspace, id);
  return row && { subject: (row['subject'] as string | null) ?? undefined };
}

/** Texts that were handed in and not worked through yet count as well. */
export function sealsAnything(reads: Reads, workspace: string, key: string): boolean {
  const sql = 'SELECT 1 FROM subject_use WHERE workspace = ? AND key = ? LIMIT 1';
  return reads.get(sql, workspace, key) !== undefined;
}

/** What a key seals of one kind, in the order of recording. */
export function usesOf(
  reads: Reads,
  workspace: string,
  key: string,
  kind: UseKind,
  limit: number,
): string[] {
  return reads
    .all(
      'SELECT ref FROM subject_use WHERE workspace = ? AND key = ? AND kind = ? ORDER BY position LIMIT ?',
      workspace,
      key,
      kind,
      limit,
    )
    .map((row) => row['ref'] as string);
}

export interface HoldView {
  id: string;
  key: string;
  of: 'principal' | undefined;
  matter: string;
  sources: number;
  placedBy: string;
  placedAt: string;
  releasedBy: string | undefined;
  releasedAt: string | undefined;
  position: number;
}

function holdOf(reads: Reads, workspace: string, row: Row): HoldView {
  const text = (column: string): string | undefined => (row[column] as string | null) ?? undefined;
  const key = row['key'] as string;
  return {
    id: row['id'] as string,
    key,
    of: text('of') as HoldView['of'],
    matter: row['matter'] as string,
    sources: touchedBy(reads, [[workspace, key]]).sources,
    placedBy: row['placed_by'] as string,
    placedAt: row['placed_at'] as string,
    releasedBy: text('released_by'),
    releasedAt: text('released_at'),
    position: row['position'] as number,
  };
}

export function holdById(reads: Reads, workspace: string, id: string): HoldView | undefined {
  const row = reads.get('SELECT * FROM legal_hold WHERE workspace = ? AND id = ?', workspace, id);
  return row && holdOf(reads, workspace, row);
}

/** In the order of recording, after a position. */
export function holdList(
  reads: Reads,
  workspace: string,
  page: { key: string | undefined; releasedToo: boolean; after: number; limit: number },
): HoldView[] {
  return reads
    .all(
      `SELECT * FROM legal_hold
        WHERE workspace = ?1 AND position > ?2 AND (?3 IS NULL OR key = ?3) AND (?4 OR released_at IS NULL)
        ORDER BY position LIMIT ?5`,
      workspace,
      page.after,
      page.key ?? null,
      page.releasedToo ? 1 : 0,
      page.limit,
    )
    .map((row) => holdOf(reads, workspace, row));
}
