import type { Position } from '#event-store/event-store.js';
import type { Reads, Row } from '#projections/read-database.js';
import { indexAt } from './log-tree.js';

/** A checkpoint of a workspace's log, as it was signed. */
export interface StoredCheckpoint {
  size: number;
  /** Base64. */
  root: string;
  note: string;
  signedAt: string;
  position: Position;
  /** Of its event in the log's stream. */
  revision: number;
}

/** A key of a workspace's log and how it came to be one. */
export interface StoredKey {
  origin: string;
  vkey: string;
  how: 'opened' | 'rotated' | 'replaced';
  /** The note of a rotation, the reason of a replacement. */
  detail: string;
  position: Position;
}

export function lastCheckpoint(reads: Reads, workspace: string): StoredCheckpoint | undefined {
  const row = reads.get(
    'SELECT * FROM log_checkpoint WHERE workspace = ? ORDER BY size DESC LIMIT 1',
    workspace,
  );
  return row && checkpointOf(row);
}

/** The first one over the event at `index` that the last key signed. What is signed later changes nothing of it, unless the key changes. */
export function firstOver(
  reads: Reads,
  workspace: string,
  index: number,
): StoredCheckpoint | undefined {
  const key = keysOf(reads, workspace).at(-1);
  // Whoever signs has read the event that names the key: what that key signed covers it, and what was signed before does not.
  const since = key && indexAt(reads, workspace, key.position);
  if (since === undefined) return undefined;
  const row = reads.get(
    'SELECT * FROM log_checkpoint WHERE workspace = ? AND size > ? ORDER BY size LIMIT 1',
    workspace,
    Math.max(index, since),
  );
  return row && checkpointOf(row);
}

/** The one that was signed of exactly so many events. */
export function checkpointAt(
  reads: Reads,
  workspace: string,
  size: number,
): StoredCheckpoint | undefined {
  const row = reads.get(
    'SELECT * FROM log_checkpoint WHERE workspace = ? AND size = ?',
    workspace,
    size,
  );
  return row && checkpointOf(row);
}

function checkpointOf(row: Row): StoredCheckpoint {
  return {
    size: row['size'] as number,
    root: row['root'] as string,
    note: row['note'] as string,
    signedAt: row['signed_at'] as string,
    position: row['position'] as number,
    revision: row['revision'] as number,
  };
}

/** Keys of one workspace's log in the order in which they came; the last one signs. */
export function keysOf(reads: Reads, workspace: string): StoredKey[] {
  return reads
    .all('SELECT * FROM log_key WHERE workspace = ? ORDER BY position', workspace)
    .map((row) => ({
      origin: row['origin'] as string,
      vkey: row['vkey'] as string,
      how: row['how'] as StoredKey['how'],
      detail: row['detail'] as string,
      position: row['position'] as number,
    }));
}

/** Of every log of the ledger, by name and in the order in which they came. */
export function everyVkey(reads: Reads): string[] {
  return reads
    .all('SELECT vkey FROM log_key ORDER BY origin, position')
    .map((row) => row['vkey'] as string);
}

/** Workspaces that have a log. */
export function openLogs(reads: Reads): string[] {
  return reads
    .all('SELECT DISTINCT workspace FROM log_key')
    .map((row) => row['workspace'] as string);
}

/** Workspaces with events that no checkpoint covers, those of the log's own aside. What belongs to no workspace was written by others. */
export function uncoveredLogs(reads: Reads): string[] {
  return reads
    .all(
      `SELECT workspace FROM log_size s WHERE workspace <> '' AND content >
         coalesce((SELECT max(size) FROM log_checkpoint c WHERE c.workspace = s.workspace), 0)`,
    )
    .map((row) => row['workspace'] as string);
}

/** Events of the whole ledger, and those under a checkpoint. */
export function coverage(reads: Reads): { events: number; covered: number } {
  const row = reads.get(
    `SELECT coalesce(sum(size), 0) AS events, coalesce(sum(
       (SELECT max(size) FROM log_checkpoint c WHERE c.workspace = s.workspace)), 0) AS covered FROM log_size s`,
  );
  return { events: row?.['events'] as number, covered: row?.['covered'] as number };
}
