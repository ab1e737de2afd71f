import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore, EventStore } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { projectHere, projectInThread, type Projector } from '#projections/projector.js';
import { ReadDatabase } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { projections } from './projections.js';
import type { Settings } from './settings.js';

/** An open ledger: the engine, the commands' way in and the queries' way out. Closed in reverse order. */
export interface Ledger {
  store: EventStore & BlobStore;
  streams: Streams;
  projector: Projector;
  models: ReadModels;
  clock: Clock;
  /** Where reactions keep how far they are. */
  reactions: string;
  close(): Promise<void>;
}

export interface LedgerEvents {
  /** The read models cannot go on; the process should end. */
  onFailure(error: Error): void;
}

export async function openLedger(
  settings: Pick<Settings, 'EVENTSTORE' | 'DATA'>,
  events: LedgerEvents,
  clock: Clock = Date.now,
): Promise<Ledger> {
  return settings.EVENTSTORE === 'memory:' ? inMemory(clock) : onDisk(settings.DATA, events, clock);
}

async function onDisk(dir: string, events: LedgerEvents, clock: Clock): Promise<Ledger> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore(dir, { clock });
  try {
    const path = join(dir, 'read.sqlite');
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
    });
    return assemble(store, projector, path, join(dir, 'reactions.sqlite'), clock);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function inMemory(clock: Clock): Promise<Ledger> {
  const dir = await mkdtemp(join(tmpdir(), 'precedent-'));
  const store = new MemoryStore(clock);
  const path = join(dir, 'read.sqlite');
  const projector = await projectHere(store, path, projections);
  return assemble(store, projector, path, join(dir, 'reactions.sqlite'), clock);
}

function assemble(
  store: EventStore & BlobStore,
  projector: Projector,
  path: string,
  reactions: string,
  clock: Clock,
): Ledger {
  const db = ReadDatabase.openForReading(path);
  const streams = new Streams(store);
  const models = new ReadModels(db, projector, streams);
  return {
    store,
    streams,
    projector,
    models,
    clock,
    reactions,
    async close() {
      await projector.close();
      db.close();
      await store.close();
    },
  };
}
