import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '#event-store/event-store.js';
import {
  checkpointAt,
  indexAt,
  lastCheckpoint,
  logTree,
  openLogs,
  pseudonymOf,
  rebuildUpTo,
  sizeOf,
  treeOf,
} from '#ledger/index.js';
import { ReadDatabase, type Reads } from '#projections/read-database.js';
import type { HashReader } from '#transparency/merkle.js';
import { EXIT, Failure, unusable } from './failure.js';
import { interruption } from './interruption.js';
import { withBar, type AuditSource } from './source.js';

const CATCH_UP_MS = 2_000;
const CATCH_UP_STEP_MS = 50;

/**
 * Runs `work` on the trees of a ledger and what was signed of them, at the end of its log: those of the folder where they
 * stand there, else new ones made from the log. Whoever uses them proves what they say: where that fails on trees of the
 * folder it is tried again on new ones, so that a damaged read model never passes for a damaged log.
 */
export async function onTrees<T>(
  source: AuditSource,
  work: (logs: SignedLogs) => T | Promise<T>,
): Promise<T> {
  const present = await presentTrees(source);
  if (present) {
    try {
      return await work(logsIn(present));
    } catch (error) {
      if (error instanceof Failure) throw error;
    } finally {
      present.close();
    }
  }
  const scratch = mkdtempSync(join(tmpdir(), 'precedent-trees-'));
  const trees = ReadDatabase.openDraft(join(scratch, 'read.sqlite'));
  try {
    await grow(source, trees);
    return await work(logsIn(trees));
  } finally {
    trees.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function grow({ store, watched }: AuditSource, db: ReadDatabase): Promise<void> {
  const goal = await store.end();
  await withBar(watched, 'Reading the log', goal, (onProgress) =>
    rebuildUpTo({ store, goal, db, projections: [logTree], onProgress, signal: interruption }),
  );
}

/** A live server may be some milliseconds behind its log. */
async function presentTrees({ readFile, store }: AuditSource): Promise<ReadDatabase | undefined> {
  if (readFile === undefined) return undefined;
  const end = await store.end();
  let db: ReadDatabase | undefined;
  try {
    db = ReadDatabase.openForReading(readFile);
    const until = performance.now() + CATCH_UP_MS;
    while (!standsAt(db, end) && performance.now() < until) await delay(CATCH_UP_STEP_MS);
    if (standsAt(db, end)) return db;
  } catch {
    // Not there, damaged or on media that cannot be opened so: the log has all that is in it.
  }
  db?.close();
  return undefined;
}

function standsAt(db: Reads, end: number): boolean {
  const { name, version } = logTree;
  const row = db.get(
    'SELECT position FROM checkpoint WHERE name = ? AND version = ?',
    name,
    version,
  );
  return row !== undefined && (row['position'] as number) >= end;
}

/** What was signed of one workspace's log, and its tree as far as it goes. */
export interface SignedLog {
  size: number;
  read: HashReader;
  /** Index of the event at a position of the whole log. */
  indexAt(position: Position): number | undefined;
  /** The note of the newest checkpoint, and of the one of exactly so many events. */
  newest(): string | undefined;
  noteAt(size: number): string | undefined;
}

/** The signed logs of a ledger. Each function throws a `Failure` where the ledger has no such log. */
export interface SignedLogs {
  of(workspace: string): SignedLog;
  /** By the origin that its checkpoints name. */
  from(origin: string): SignedLog;
  /** Of the workspace that was named on the command line, else the only one. */
  chosen(workspace: string | undefined): SignedLog;
}

function logsIn(reads: Reads): SignedLogs {
  const of = (workspace: string): SignedLog => ({
    size: sizeOf(reads, workspace).size,
    read: treeOf(reads, workspace),
    indexAt: (position) => indexAt(reads, workspace, position),
    newest: () => lastCheckpoint(reads, workspace)?.note,
    noteAt: (size) => checkpointAt(reads, workspace, size)?.note,
  });
  return {
    of,
    from: (origin) => of(workspaceOf(openLogs(reads), origin)),
    chosen: (workspace) => of(chosenOf(openLogs(reads), workspace)),
  };
}

function workspaceOf(all: readonly string[], origin: string): string {
  const pseudonym = origin.slice(origin.lastIndexOf('/') + 1);
  const found = all.find((id) => pseudonymOf(id) === pseudonym);
  if (found !== undefined) return found;
  throw new Failure(EXIT.refused, {
    error: 'unknown_log',
    message: `this ledger has no log ${origin}`,
    fix: 'name the ledger that the checkpoint came from',
  });
}

const LISTED = 20;

function chosenOf(all: readonly string[], given: string | undefined): string {
  const [only] = all;
  if (given === undefined && only !== undefined && all.length === 1) return only;
  if (given !== undefined && all.includes(given)) return given;
  throw unusable(
    given === undefined ? 'workspace_missing' : 'unknown_workspace',
    given === undefined
      ? `this ledger has ${all.length} signed logs: say which one is meant`
      : `this ledger has no signed log of a workspace ${given}`,
    {
      path: '--workspace',
      fix:
        all.length === 0
          ? 'let the server sign: it does so within seconds while it runs, and when it is stopped'
          : `give one of ${all.slice(0, LISTED).join(', ')}`,
    },
  );
}
