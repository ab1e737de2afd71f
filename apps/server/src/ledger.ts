import { rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore, EventStore } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { Sealing } from '#event-store/sealing.js';
import { lockLedger, openSqliteStore } from '#event-store/sqlite.js';
import { openKeys } from '#event-store/sqlite-keys.js';
import { Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { projectHere, projectInThread, type Projector } from '#projections/projector.js';
import { ReadDatabase } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { followErasures } from '#sources/index.js';
import { projections } from './projections.js';
import type { Settings } from './settings.js';

/** An open ledger: the engine, the commands' way in and the queries' way out. Closed in reverse order. */
export interface Ledger {
  store: Engine;
  streams: Streams;
  /** Seals personal text. */
  sealing: Sealing;
  projector: Projector;
  models: ReadModels;
  /** Where the read models are. */
  readFile: string;
  clock: Clock;
  /** Where reactions keep how far they are. */
  reactions: string;
  close(): Promise<void>;
}

export interface LedgerEvents {
  /** The read models cannot go on; the process should end. */
  onFailure(error: Error): void;
  /** The read models that were there are made anew, and why. */
  onUnfit(why: string): void;
  /** The read models are behind and have come this far. */
  onCatchUp(position: number, end: number): void;
  /** An append was acknowledged or refused, after so long. */
  onAppend?(ms: number): void;
  /** The embedded engine committed what so many requests wanted. */
  onCommit?(requests: number, ms: number): void;
}

type Engine = EventStore &
  BlobStore & { readonly healthy?: boolean; readonly stats?: Readonly<Record<string, number>> };

export async function openLedger(
  settings: Pick<Settings, 'EVENTSTORE' | 'DATA'>,
  events: LedgerEvents,
  clock: Clock = Date.now,
): Promise<Ledger> {
  if (settings.EVENTSTORE === 'memory:') return inMemory(events, clock);
  await mkdir(settings.DATA, { recursive: true, mode: 0o700 });
  return settings.EVENTSTORE === 'sqlite:'
    ? onDisk(settings.DATA, events, clock)
    : onCluster(settings.EVENTSTORE, settings.DATA, events, clock);
}

async function onDisk(dir: string, events: LedgerEvents, clock: Clock): Promise<Ledger> {
  const store = await openSqliteStore(dir, { clock });
  if (events.onCommit) store.onCommit(events.onCommit.bind(events));
  try {
    const path = join(dir, 'read.sqlite');
    const end = await store.end();
    const projector = await projectInThread({
      ledger: dir,
      path,
      list: new URL(
        import.meta.url.endsWith('.ts') ? './projections.ts' : './projections.js',
        import.meta.url,
      ),
      onCommit: (wake) => {
        store.onCommit(wake);
      },
      onFailure: (error) => {
        events.onFailure(error);
      },
      onCatchUp: (position) => {
        events.onCatchUp(position, end);
      },
      onUnfit: (why) => {
        events.onUnfit(why);
      },
    });
    const sealing = new Sealing(openKeys(dir));
    const streams = new Streams(timed(store, events), undefined, sealing);
    return assemble({ store, streams, sealing, projector, dir, clock });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The data folder holds this server's own, disposable read models; the ledger is shared. */
async function onCluster(
  address: string,
  dir: string,
  events: LedgerEvents,
  clock: Clock,
): Promise<Ledger> {
  const lock = lockLedger(dir);
  try {
    // Its client is large, and most servers have their ledger on the disk.
    const { openEventStoreDb } = await import('#event-store/eventstoredb.js');
    const { SharedKeys } = await import('#event-store/shared-keys.js');
    const store = await openEventStoreDb(address, { clock });
    const keys = SharedKeys.open(store.keys, (make) => openKeys(dir, { make }));
    const sealing = new Sealing(keys);
    store.beforeReading(async (read) => {
      await keys.learn(read);
      await followErasures(sealing, read);
    });
    const projector = await follow(store, dir, events);
    const streams = new Streams(timed(store, events), { shared: true }, sealing);
    return assemble({
      store,
      streams,
      sealing,
      projector,
      dir,
      clock,
      release: () => {
        lock.release();
      },
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function inMemory(events: LedgerEvents, clock: Clock): Promise<Ledger> {
  const dir = await mkdtemp(join(tmpdir(), 'precedent-'));
  const store = new MemoryStore(clock);
  const projector = await follow(store, dir, events);
  const sealing = new Sealing(openKeys(dir));
  const streams = new Streams(timed(store, events), undefined, sealing);
  const release = (): void => {
    rmSync(dir, { recursive: true, force: true });
  };
  return assemble({ store, streams, sealing, projector, dir, clock, release });
}

async function follow(store: Engine, dir: string, events: LedgerEvents): Promise<Projector> {
  const end = await store.end();
  return projectHere(store, join(dir, 'read.sqlite'), projections, {
    onFailure: (error) => {
      events.onFailure(error);
    },
    onCatchUp: (position) => {
      events.onCatchUp(position, end);
    },
    onUnfit: (why) => {
      events.onUnfit(why);
    },
  });
}

/** The store as commands see it, with a clock on its appends. */
function timed(store: Engine, told: LedgerEvents): EventStore {
  if (!told.onAppend) return store;
  return {
    async append(stream, expected, events) {
      const from = performance.now();
      try {
        return await store.append(stream, expected, events);
      } finally {
        told.onAppend?.(performance.now() - from);
      }
    },
    readStream: (stream, from) => store.readStream(stream, from),
    follow: (after, options) => store.follow(after, options),
    end: () => store.end(),
    close: () => store.close(),
  };
}

function assemble(parts: {
  store: Engine;
  streams: Streams;
  sealing: Sealing;
  projector: Projector;
  dir: string;
  clock: Clock;
  release?: () => void;
}): Ledger {
  const { store, streams, sealing, projector, dir, clock, release } = parts;
  const readFile = join(dir, 'read.sqlite');
  const db = ReadDatabase.openForReading(readFile, sealing.opener);
  sealing.onDestroyed(() => {
    db.forget();
  });
  return {
    store,
    streams,
    sealing,
    projector,
    models: new ReadModels(db, projector, streams),
    readFile,
    clock,
    reactions: join(dir, 'reactions.sqlite'),
    async close() {
      await projector.close();
      db.close();
      await store.close();
      await sealing.keys?.close();
      release?.();
    },
  };
}
