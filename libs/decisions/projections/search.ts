import { isHidden } from '#kernel/sealing.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { sourceCodec } from '#sources/index.js';
import { isUnassigned } from '../domain/ingestion-plan.js';
import { topicCodec } from '../domain/topic.events.js';

/** What a row of the feed adds to the search index, or changes in it. `ended`: superseded or revoked; `dropped`: it never held. */
export type FeedKind = 'names' | 'claim' | 'approved' | 'ended' | 'dropped' | 'source';

export interface FeedRow {
  position: number;
  workspace: string;
  kind: FeedKind;
  /** Topic of a name or a claim. */
  topic: string;
  /** Claim or source. */
  ref: string;
  /** Names of a topic, words of a claim, title of a source; nothing in place of what cannot be read. */
  text: string;
}

/** In the order of the log, what the search index is made of (QO-25): it reads on from where it stands, and all of it after a start. */
export const search = projection(
  'search',
  3,
  {
    search_feed: `CREATE TABLE search_feed (
      position INTEGER PRIMARY KEY, workspace TEXT NOT NULL, kind TEXT NOT NULL, topic TEXT NOT NULL, ref TEXT NOT NULL,
      text TEXT NOT NULL)`,
  },
  when(topicCodec, {
    TopicOpened(tables, data, meta) {
      if (!isUnassigned(data.topic))
        add(tables, meta, 'names', { topic: data.topic, text: data.name });
    },
    TopicAliased(tables, data, meta) {
      add(tables, meta, 'names', { topic: data.topic, text: data.aliases.join('\n') });
    },
    DecisionProposed(tables, data, meta) {
      const topic = meta.stream.slice(`topic-${meta.workspace}-`.length);
      if (isUnassigned(topic)) return;
      const text = JSON.stringify([data.statement, ...data.evidence.map((e) => e.excerpt)]);
      add(tables, meta, 'claim', { topic, ref: data.decision_id, text });
    },
    DecisionApproved(tables, data, meta) {
      add(tables, meta, 'approved', { ref: data.decision_id });
    },
    DecisionSuperseded(tables, data, meta) {
      add(tables, meta, 'ended', { ref: data.decision_id });
    },
    DecisionRevoked(tables, data, meta) {
      add(tables, meta, 'ended', { ref: data.decision_id });
    },
    DecisionRejected(tables, data, meta) {
      add(tables, meta, 'dropped', { ref: data.decision_id });
    },
    DecisionRetracted(tables, data, meta) {
      add(tables, meta, 'dropped', { ref: data.decision_id });
    },
    DecisionConfirmed(tables, data, meta) {
      add(tables, meta, 'dropped', { ref: data.by });
    },
  }),
  when(sourceCodec, {
    SourceCaptured(tables, data, meta) {
      add(tables, meta, 'source', { ref: data.source_id, text: data.title });
    },
  }),
);

function add(
  tables: Writes,
  meta: Meta,
  kind: FeedKind,
  { topic = '', ref = '', text = '' }: Partial<Pick<FeedRow, 'topic' | 'ref' | 'text'>>,
): void {
  tables.run(
    'INSERT INTO search_feed VALUES (?, ?, ?, ?, ?, ?)',
    meta.position,
    meta.workspace,
    kind,
    topic,
    ref,
    text,
  );
}

/** The next rows of the feed, oldest first. */
export function feedAfter(reads: Reads, position: number, limit: number): FeedRow[] {
  const rows = reads.all(
    'SELECT * FROM search_feed WHERE position > ? ORDER BY position LIMIT ?',
    position,
    limit,
  );
  return rows.map((row) => ({
    position: row['position'] as number,
    workspace: row['workspace'] as string,
    kind: row['kind'] as FeedKind,
    topic: row['topic'] as string,
    ref: row['ref'] as string,
    text: textOf(row['kind'] as FeedKind, row['text'] as string),
  }));
}

/** Of a claim the statement, and quotes that say more; stored as a list, because each may be sealed by itself. */
function textOf(kind: FeedKind, stored: string): string {
  const [first = '', ...quotes] = kind === 'claim' ? (JSON.parse(stored) as string[]) : [stored];
  const said = [first, ...quotes.filter((quote) => quote !== first)];
  return said.filter((text) => !isHidden(text)).join('\n');
}

export function feedAt(reads: Reads, position: number): Pick<FeedRow, 'topic' | 'ref'> | undefined {
  const row = reads.get('SELECT topic, ref FROM search_feed WHERE position = ?', position);
  return row && { topic: row['topic'] as string, ref: row['ref'] as string };
}
