import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { BlobStore, EventStore, Position } from '#event-store/event-store.js';
import type { KeyReader } from '#event-store/key-vault.js';
import type { LedgerSource, StoredBlob } from '#event-store/ledger-check.js';
import type { Finding } from '#event-store/ledger-check.js';
import type { Opener } from '#kernel/sealing.js';
import type { ReadDatabase } from '#projections/read-database.js';
import { unusable } from './failure.js';
import { interruption } from './interruption.js';
import { dataFolder } from './ledger.js';
import { filled } from './options.js';
import { outputFor, type OutputOptions } from './output.js';

/** Where an auditor's verb reads: at most one of them; a data folder by default. */
export interface SourceOptions extends OutputOptions {
  data?: string;
  bundle?: string;
  eventstore?: string;
}

export function withSource(command: Command): Command {
  return command
    .option('--data <folder>', 'data folder or a copy of one (default: PRECEDENT_DATA)', filled)
    .option('--bundle <folder>', 'what "precedent export" wrote', filled)
    .option('--eventstore <address>', 'an EventStoreDB or KurrentDB, as esdb://…', filled);
}

export interface AuditStore
  extends Pick<EventStore, 'readStream' | 'follow' | 'end'>, Pick<BlobStore, 'getBlob'> {
  blobs(): AsyncIterable<readonly StoredBlob[]>;
}

/** A ledger that is only read: no lock, no server. A live one may be written meanwhile. */
export interface AuditSource {
  kind: 'folder' | 'bundle' | 'eventstoredb';
  /** For people: the folder, or the address without what is secret in it. */
  name: string;
  /** Somebody sees progress bars. */
  watched: boolean;
  store: AuditStore;
  /** One moment of its stored bytes, for checks and copies. Close it before the source. */
  snapshot(): Promise<LedgerSource & { close(): void }>;
  /** `read.sqlite` of a data folder, where there is one. */
  readFile: string | undefined;
  /** Positions count from 1 without gaps. */
  contiguous: boolean;
  /** Of a bundle: the workspace that it was limited to, and what is wrong with its files. */
  bundle?: { workspace: string | null; dir: string; damage: Finding | undefined };
  /** Text of the public log keys that the ledger itself names, one a line: a statement of the ledger, not a proof. */
  vkeys(): Promise<string>;
  /** Keys that open sealed texts, where the source has any. Who takes them closes them. */
  textKeys(): Promise<KeyReader | undefined>;
  close(): Promise<void>;
}

export async function openSource(options: SourceOptions): Promise<AuditSource> {
  const { watched } = outputFor(options);
  const given = [options.bundle, options.eventstore].filter((o) => o !== undefined);
  if (given.length > 1 || (options.bundle !== undefined && options.data !== undefined))
    throw unusable('several_sources', 'more than one ledger is named', {
      path: '--bundle',
      fix: 'give --data, --bundle or --eventstore; with --eventstore, --data only adds its read models',
    });
  if (options.bundle !== undefined) return openBundle(resolve(options.bundle), watched);
  if (options.eventstore !== undefined)
    return openCluster(options.eventstore, options.data, watched);
  return openFolder(resolve(await dataFolder(options.data)), watched);
}

async function openFolder(dir: string, watched: boolean): Promise<AuditSource> {
  const { openSqliteReader } = await import('#event-store/sqlite.js');
  const { openSnapshot } = await import('#event-store/sqlite-backup.js');
  const reader = openSqliteReader(dir);
  return {
    kind: 'folder',
    name: dir,
    watched,
    store: Object.assign(reader, { blobs: () => blobsOf(() => openSnapshot(dir)) }),
    snapshot: () => Promise.resolve(openSnapshot(dir)),
    readFile: readFileIn(dir),
    contiguous: true,
    vkeys: () => keysIn(join(dir, 'log-keys.txt'), reader),
    textKeys: () => textKeysIn(dir),
    close: () => reader.close(),
  };
}

async function openCluster(
  address: string,
  data: string | undefined,
  watched: boolean,
): Promise<AuditSource> {
  const { openEventStoreDb } = await import('#event-store/eventstoredb.js');
  const { openEventStoreDbSource } = await import('#event-store/eventstoredb-source.js');
  const store = await openEventStoreDb(address, { clock: Date.now });
  const snapshot = () => openEventStoreDbSource(address);
  return {
    kind: 'eventstoredb',
    watched,
    name: address.replace(/\/\/[^@/]*@/, '//').replace(/[?].*$/, ''),
    store: Object.assign(store, { blobs: () => blobsOf(snapshot) }),
    snapshot,
    readFile: data === undefined ? undefined : readFileIn(resolve(data)),
    contiguous: false,
    vkeys: () =>
      keysIn(data === undefined ? undefined : join(resolve(data), 'log-keys.txt'), store),
    textKeys: async () => (data === undefined ? undefined : textKeysIn(resolve(data))),
    close: () => store.close(),
  };
}

/** A bundle is read through a ledger file that is made of it and removed in the end; its positions stay. */
async function openBundle(dir: string, watched: boolean): Promise<AuditSource> {
  const { BUNDLE_FILES, loadBundle, readManifest } = await import('#ledger/index.js');
  const { openSqliteReader } = await import('#event-store/sqlite.js');
  const { openFinished } = await import('#event-store/sqlite-backup.js');
  const manifest = readManifest(dir);
  const scratch = mkdtempSync(join(tmpdir(), 'precedent-bundle-'));
  try {
    const file = join(scratch, 'ledger.sqlite');
    const { events } = manifest.coverage;
    const { damage } = await withBar(watched, 'Reading the export', events, (onProgress) =>
      loadBundle(dir, manifest, file, { signal: interruption, onProgress, renumber: false }),
    );
    const reader = openSqliteReader(scratch);
    return {
      kind: 'bundle',
      name: dir,
      watched,
      store: Object.assign(reader, { blobs: () => blobsOf(() => openFinished(file)) }),
      snapshot: () => Promise.resolve(openFinished(file)),
      readFile: undefined,
      contiguous: false,
      bundle: { workspace: manifest.workspace, dir, damage },
      vkeys: () => keysIn(join(dir, BUNDLE_FILES.keys), reader),
      textKeys: () => Promise.resolve(undefined),
      close: async () => {
        await reader.close();
        rmSync(scratch, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
}

function readFileIn(dir: string): string | undefined {
  const file = join(dir, 'read.sqlite');
  return existsSync(file) ? file : undefined;
}

async function* blobsOf(
  open: () => (LedgerSource & { close(): void }) | Promise<LedgerSource & { close(): void }>,
): AsyncGenerator<readonly StoredBlob[]> {
  const source = await open();
  try {
    yield* source.blobs();
  } finally {
    source.close();
  }
}

async function textKeysIn(dir: string): Promise<KeyReader | undefined> {
  const { openKeysForReading } = await import('#event-store/sqlite-keys.js');
  return openKeysForReading(dir);
}

async function keysIn(
  file: string | undefined,
  store: Pick<EventStore, 'follow'>,
): Promise<string> {
  if (file !== undefined && existsSync(file)) return readFileSync(file, 'utf8');
  const { keysOfLog } = await import('#ledger/index.js');
  return (await keysOfLog(store)).map((vkey) => `${vkey}\n`).join('');
}

/** Runs `work` with a bar on stderr where somebody watches. */
export async function withBar<T>(
  watched: boolean,
  doing: string,
  total: number,
  work: (onProgress: (done: number) => void) => Promise<T>,
): Promise<T> {
  if (!watched) return work(() => undefined);
  const { progressBar } = await import('./progress.js');
  const bar = progressBar(doing, 'events');
  let shown = 0;
  try {
    return await work((done) => {
      if (done - shown < total / 500) return;
      shown = done;
      bar.update(done, Math.max(total, done));
    });
  } finally {
    bar.stop();
  }
}

const CATCH_UP_MS = 2_000;
const CATCH_UP_STEP_MS = 50;

/**
 * Read models of the source at the end of its log, or as they stood at `to`: what the folder has, where that stands there, else
 * rebuilt from the log in a folder that is gone afterwards.
 */
export async function withReadModels<T>(
  source: AuditSource,
  options: { to?: Position },
  work: (db: ReadDatabase, position: Position) => Promise<T> | T,
): Promise<T> {
  const end = await source.store.end();
  const goal = Math.min(options.to ?? end, end);
  const { Opener, WITHOUT_KEYS } = await import('#kernel/sealing.js');
  const keys = await source.textKeys();
  const opener = keys ? new Opener((id) => keys.key(id)) : WITHOUT_KEYS;
  try {
    const present = goal === end ? await presentModels(source.readFile, end, opener) : undefined;
    if (!present) return await withRebuilt(source, goal, opener, work);
    try {
      return await work(present, end);
    } finally {
      present.close();
    }
  } finally {
    await keys?.close();
  }
}

/** A live server may be some milliseconds behind its log. */
async function presentModels(
  file: string | undefined,
  end: Position,
  opener: Opener,
): Promise<ReadDatabase | undefined> {
  if (file === undefined) return undefined;
  const { ReadDatabase } = await import('#projections/read-database.js');
  const { projections } = await import('../../server/src/projections.js');
  let db: ReadDatabase;
  try {
    db = ReadDatabase.openForReading(file, opener);
  } catch {
    // On media that cannot be written, or of another kind: the log has all that is in it.
    return undefined;
  }
  const stands = (): boolean => {
    const rows = db.all('SELECT name, version, position FROM checkpoint');
    return projections.every(({ name, version }) =>
      rows.some(
        (r) => r['name'] === name && r['version'] === version && Number(r['position']) >= end,
      ),
    );
  };
  try {
    for (const until = performance.now() + CATCH_UP_MS; performance.now() < until;) {
      if (stands()) return db;
      await delay(CATCH_UP_STEP_MS);
    }
  } catch {
    // No read models, or damaged ones.
  }
  db.close();
  return undefined;
}

async function withRebuilt<T>(
  { store, watched }: AuditSource,
  goal: Position,
  opener: Opener,
  work: (db: ReadDatabase, position: Position) => Promise<T> | T,
): Promise<T> {
  const { rebuildUpTo } = await import('#ledger/index.js');
  const { ReadDatabase } = await import('#projections/read-database.js');
  const { projections } = await import('../../server/src/projections.js');
  const scratch = mkdtempSync(join(tmpdir(), 'precedent-models-'));
  try {
    const path = join(scratch, 'read.sqlite');
    const draft = ReadDatabase.openDraft(path);
    try {
      await withBar(watched, 'Rebuilding the read models', goal, (onProgress) =>
        rebuildUpTo({ store, goal, db: draft, projections, onProgress, signal: interruption }),
      );
    } finally {
      draft.close();
    }
    const db = ReadDatabase.openForReading(path, opener);
    try {
      return await work(db, goal);
    } finally {
      db.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
