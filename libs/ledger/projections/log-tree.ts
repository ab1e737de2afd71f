import type { Position, RecordedEvent } from '#event-store/event-store.js';
import { Refusal } from '#kernel/refusal.js';
import { projection, when, type Meta, type Projection } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { leafHash, nodeHash, type Hash, type HashReader } from '#transparency/merkle.js';
import { checkpointCodec } from '../domain/checkpoint.events.js';
import { checkpointStream } from '../streams.js';

/** Subtrees of these heights and their multiples are kept; what lies between is computed when it is asked for. */
const STEP = 4;
const FAN = 2 ** STEP;

/**
 * The RFC 6962 tree of each workspace over all its events in the order of the log; a leaf is the event's stored header. Hashes are base64.
 * `log_size.content`: leaves up to the last event that is no checkpoint event. Beside it what was signed, and with which keys.
 */
export const logTree: Projection = {
  ...projection(
    'log_tree',
    1,
    {
      log_leaf: `CREATE TABLE log_leaf (workspace TEXT NOT NULL, idx INTEGER NOT NULL, position INTEGER NOT NULL,
        hash TEXT NOT NULL, PRIMARY KEY (workspace, idx)) WITHOUT ROWID`,
      log_node: `CREATE TABLE log_node (workspace TEXT NOT NULL, level INTEGER NOT NULL, idx INTEGER NOT NULL,
        hash TEXT NOT NULL, PRIMARY KEY (workspace, level, idx)) WITHOUT ROWID`,
      log_size: `CREATE TABLE log_size (workspace TEXT PRIMARY KEY, size INTEGER NOT NULL, content INTEGER NOT NULL) WITHOUT ROWID`,
      log_checkpoint: `CREATE TABLE log_checkpoint (workspace TEXT NOT NULL, size INTEGER NOT NULL, root TEXT NOT NULL,
        note TEXT NOT NULL, signed_at TEXT NOT NULL, position INTEGER NOT NULL, revision INTEGER NOT NULL, PRIMARY KEY (workspace, size)) WITHOUT ROWID`,
      log_key: `CREATE TABLE log_key (workspace TEXT NOT NULL, position INTEGER NOT NULL, origin TEXT NOT NULL, vkey TEXT NOT NULL,
        how TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (workspace, position)) WITHOUT ROWID`,
    },
    when(checkpointCodec, {
      LogOpened: (tables, { origin, vkey, replaces, reason }, meta) => {
        const how = replaces === undefined ? 'opened' : 'replaced';
        addKey(tables, meta, origin, vkey, how, reason ?? '');
      },
      CheckpointSigned: (tables, { size, root, note }, meta) => {
        const { workspace, recordedAt, position, revision } = meta;
        tables.run(
          'INSERT OR REPLACE INTO log_checkpoint VALUES (?, ?, ?, ?, ?, ?, ?)',
          workspace,
          size,
          root,
          note,
          recordedAt,
          position,
          revision,
        );
      },
      LogKeyRotated: (tables, { vkey, note }, meta) => {
        const origin = vkey.slice(0, vkey.indexOf('+'));
        addKey(tables, meta, origin, vkey, 'rotated', note);
      },
    }),
  ),
  every: grow,
};

function addKey(
  tables: Writes,
  { workspace, position }: Meta,
  origin: string,
  vkey: string,
  how: 'opened' | 'rotated' | 'replaced',
  detail: string,
): void {
  tables.run(
    'INSERT OR REPLACE INTO log_key VALUES (?, ?, ?, ?, ?, ?)',
    workspace,
    position,
    origin,
    vkey,
    how,
    detail,
  );
}

interface Growth {
  size: number;
  content: number;
}

function grow(tables: Writes, events: readonly RecordedEvent[]): void {
  const grown = new Map<string, Growth>();
  for (const { workspace, position, header, stream } of events) {
    let growth = grown.get(workspace);
    if (!growth) {
      growth = sizeOf(tables, workspace);
      grown.set(workspace, growth);
    }
    const idx = growth.size++;
    if (stream !== checkpointStream(workspace)) growth.content = growth.size;
    tables.run(
      'INSERT INTO log_leaf (workspace, idx, position, hash) VALUES (?, ?, ?, ?)',
      workspace,
      idx,
      position,
      toText(leafHash(header)),
    );
    for (let level = STEP, size = growth.size / FAN; Number.isInteger(size); level += STEP) {
      keepNode(tables, workspace, level, size - 1);
      size /= FAN;
    }
  }
  for (const [workspace, { size, content }] of grown)
    tables.run('INSERT OR REPLACE INTO log_size VALUES (?, ?, ?)', workspace, size, content);
}

function keepNode(tables: Writes, workspace: string, level: number, idx: number): void {
  tables.run(
    'INSERT INTO log_node (workspace, level, idx, hash) VALUES (?, ?, ?, ?)',
    workspace,
    level,
    idx,
    toText(joined(kept(tables, workspace, level - STEP, idx * FAN, FAN))),
  );
}

/** Refuses where the trees stopped before a position: parked, they say nothing of what came later. */
export function assertFollowed(reads: Reads, position: Position): void {
  const row = reads.get('SELECT position FROM checkpoint WHERE name = ?', logTree.name);
  const reached = (row?.['position'] ?? 0) as Position;
  if (reached >= position) return;
  throw new Refusal(
    'unavailable',
    'projection_lag',
    `the trees of the log have reached position ${reached}, not yet ${position}`,
    { fix: 'ask again in a moment; readiness says whether log_tree is parked' },
  );
}

/** How far a workspace's tree goes; zeroes where it has no events. */
export function sizeOf(reads: Reads, workspace: string): Growth {
  const row = reads.get('SELECT size, content FROM log_size WHERE workspace = ?', workspace);
  return { size: (row?.['size'] ?? 0) as number, content: (row?.['content'] ?? 0) as number };
}

/**
 * The tree of a workspace as far as it goes; beyond it, it throws. For one proof or a few, in one snapshot: it keeps the rows that it has
 * read, since most hashes of a proof are neighbours.
 */
export function treeOf(reads: Reads, workspace: string): HashReader {
  const blocks = new Map<string, string>();
  return (level, index) => {
    const above = level % STEP;
    const [height, span] = [level - above, 2 ** above];
    const [first, block] = [index * span, Math.floor((index * span) / FAN)];
    const key = `${height} ${block}`;
    let text = blocks.get(key);
    if (text === undefined) {
      text = textOf(reads, workspace, height, block * FAN, FAN);
      blocks.set(key, text);
    }
    const at = (first - block * FAN) * HASH_TEXT;
    return joined(hashesIn(text.slice(at, at + span * HASH_TEXT), span));
  };
}

/** Hashes of `count` neighbours of a height that is kept, from `from` on. */
export function kept(
  reads: Reads,
  workspace: string,
  level: number,
  from: number,
  count: number,
): Hash[] {
  return hashesIn(textOf(reads, workspace, level, from, count), count);
}

/** The same as text, one after the other; fewer where the tree ends. */
function textOf(
  reads: Reads,
  workspace: string,
  level: number,
  from: number,
  count: number,
): string {
  const row =
    level === 0
      ? reads.get(
          `SELECT group_concat(hash, '' ORDER BY idx) AS hashes FROM log_leaf WHERE workspace = ? AND idx >= ? AND idx < ?`,
          workspace,
          from,
          from + count,
        )
      : reads.get(
          `SELECT group_concat(hash, '' ORDER BY idx) AS hashes FROM log_node WHERE workspace = ? AND level = ? AND idx >= ? AND idx < ?`,
          workspace,
          level,
          from,
          from + count,
        );
  return (row?.['hashes'] ?? '') as string;
}

function hashesIn(text: string, count: number): Hash[] {
  if (text.length !== count * HASH_TEXT)
    throw new Error(`the tree lacks hashes: it has ${text.length / HASH_TEXT} of ${count} there`);
  return Array.from({ length: count }, (_, i) =>
    Buffer.from(text.slice(i * HASH_TEXT, (i + 1) * HASH_TEXT), 'base64'),
  );
}

/** Characters of 32 bytes in base64. */
const HASH_TEXT = 44;

const toText = (hash: Hash): string =>
  Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('base64');

/** Root of a complete tree over 1, 2, 4, 8 or 16 hashes. */
function joined(hashes: readonly Hash[]): Hash {
  let row = hashes;
  while (row.length > 1) {
    const next: Hash[] = [];
    for (let i = 0; i < row.length; i += 2) next.push(nodeHash(row[i] as Hash, row[i + 1] as Hash));
    row = next;
  }
  return row[0] as Hash;
}

/** Index of the event at a position of the log; undefined where this workspace has none there. */
export function indexAt(reads: Reads, workspace: string, position: Position): number | undefined {
  const last = sizeOf(reads, workspace).size - 1;
  // Positions are different whole numbers that rise with the index: that alone leaves one place where the log is of one workspace.
  const fromEnd = positionOf(reads, workspace, last) - position;
  let [low, high] = [Math.max(0, last - fromEnd), Math.min(last, position - 1)];
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const found = positionOf(reads, workspace, middle);
    if (found === position) return middle;
    if (found < position) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

function positionOf(reads: Reads, workspace: string, index: number): Position {
  const sql = 'SELECT position FROM log_leaf WHERE workspace = ? AND idx = ?';
  return (reads.get(sql, workspace, index)?.['position'] ?? 0) as number;
}

/** Positions of `count` events from an index on; fewer at the end. */
export function positionsOf(
  reads: Reads,
  workspace: string,
  from: number,
  count: number,
): Position[] {
  return reads
    .all(
      'SELECT position FROM log_leaf WHERE workspace = ? AND idx >= ? AND idx < ? ORDER BY idx',
      workspace,
      from,
      from + count,
    )
    .map((row) => row['position'] as number);
}
