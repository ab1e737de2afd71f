import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { NewEvent } from '#event-store/event-store.js';
import { concurrently } from '../measure.js';
import { eventsAfter } from '../recorded.js';
import { openedStreams } from '../seed.js';
import { serve } from './program.js';

// References of B12: what the product appended, appended with the same expected revision to emmett's stores.

/** What is used of emmett; its packages are installed beside the project, so no type of theirs is at hand. */
interface Peer {
  appendToStream(
    stream: string,
    events: readonly { type: string; data: unknown; metadata: unknown }[],
    options: { expectedStreamVersion: bigint | 'STREAM_DOES_NOT_EXIST' },
  ): Promise<unknown>;
  schema?: { migrate?(): Promise<unknown> };
  close?(): Promise<void>;
}

export type PeerKind = 'sqlite' | 'postgresql';

let store: Peer | undefined;

function opened(): Peer {
  if (!store) throw new Error('not open');
  return store;
}

/** `folder`: where its packages are. `at`: a file or a connection string. */
async function open(input: { kind: PeerKind; folder: string; at: string }): Promise<void> {
  const { resolve } = createRequire(join(input.folder, 'package.json'));
  const name = `@event-driven-io/emmett-${input.kind}`;
  const emmett = (await import(pathToFileURL(resolve(name)).href)) as {
    getSQLiteEventStore(options: { fileName: string }): Peer;
    getPostgreSQLEventStore(connection: string): Peer;
  };
  store =
    input.kind === 'sqlite'
      ? emmett.getSQLiteEventStore({ fileName: input.at })
      : emmett.getPostgreSQLEventStore(input.at);
  await store.schema?.migrate?.();
}

/** The first events of topics, as they stand in the ledger too, each topic's in one append. */
async function seed({ first, count }: { first: number; count: number }): Promise<void> {
  for (const { stream, events } of openedStreams(first, count))
    await append(stream, events, 'STREAM_DOES_NOT_EXIST');
}

const TRIES = 20;

/** emmett on SQLite now and then says that it cannot commit, with a single writer too; a caller would try again. */
async function append(
  stream: string,
  events: readonly NewEvent[],
  expectedStreamVersion: bigint | 'STREAM_DOES_NOT_EXIST',
): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      await opened().appendToStream(stream, events.map(asPeers), { expectedStreamVersion });
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY' || tries === TRIES) throw error;
    }
}

/** Appends the first `count` events that stand in the ledger `from` after a position. Gives appends a second. */
async function run(input: {
  from: string;
  after: number;
  count: number;
  width: number;
}): Promise<number> {
  const all = await eventsAfter(input.from, input.after);
  const events = all.slice(0, input.count);
  const started = performance.now();
  await concurrently(events, input.width, ({ stream, revision, event }) =>
    append(stream, [event], BigInt(revision)),
  );
  return (events.length / (performance.now() - started)) * 1_000;
}

function asPeers({ type, payload, ...metadata }: NewEvent) {
  return { type, data: JSON.parse(payload) as unknown, metadata };
}

async function close(): Promise<void> {
  await opened().close?.();
}

serve({ open, seed, run, close });
