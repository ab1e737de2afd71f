import { randomUUID } from 'node:crypto';
import type { Clock } from '#kernel/context.js';
import { WrongExpectedRevision } from './event-store.js';
import type {
  Appended,
  BlobStore,
  EventStore,
  ExpectedRevision,
  FollowOptions,
  NewEvent,
  Position,
  RecordedEvent,
} from './event-store.js';
import { appendRaw, type Outcome, type RawEvent } from './eventstoredb-appending.js';
import { certificateProblem, readAddress } from './eventstoredb-address.js';
import { Blobs } from './eventstoredb-blobs.js';
import { Connection } from './eventstoredb-connection.js';
import { follow } from './eventstoredb-following.js';
import { KeyStreams } from './eventstoredb-keys.js';
import { Health, TIMINGS, type EventStoreDbStats, type Timings } from './eventstoredb-health.js';
import {
  persist,
  readLast,
  readOut,
  toHeader,
  toMetadata,
  toRecorded,
  type StoredEvent,
} from './eventstoredb-reading.js';
import {
  compareEarlier,
  idReused,
  monotonic,
  prepareAppend,
  storeClosed,
  type EventHeader,
} from './header.js';

export type { EventStoreDbStats, Timings } from './eventstoredb-health.js';

export interface EventStoreDbOptions {
  clock: Clock;
  /** Sets the streams of this ledger apart from all others of the cluster: `<ledger>:<stream>`. Default `precedent`. */
  ledger?: string;
  timings?: Partial<Timings>;
}

/**
 * The scale-out engine: a ledger in EventStoreDB or KurrentDB, which any number of processes share.
 * After an unknown outcome it goes on: the outcome is looked up, and only if that is impossible too is it reported.
 * `recorded_at` never decreases among the appends that one process begins; between processes, and between appends under way
 * at the same time, followers take the running maximum (docs/adr/0004).
 */
export class EventStoreDbStore implements EventStore, BlobStore {
  readonly #prefix: string;
  readonly #blobs: Blobs;
  readonly #followers = new Set<() => void>();
  readonly #writes = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  #learn: ((events: readonly RecordedEvent[]) => Promise<void>) | undefined;
  /** Keys of sealed texts, apart from the log. */
  readonly keys: KeyStreams;

  constructor(
    private readonly connection: Connection,
    ledger: string,
    private readonly now: () => string,
  ) {
    this.#prefix = prefixOf(ledger);
    this.#blobs = new Blobs(connection, blobPrefixOf(ledger));
    this.keys = new KeyStreams(connection, keyPrefixOf(ledger));
  }

  /** False while a follower is cut off, or after a call that did not reach the cluster, until one does. */
  get healthy(): boolean {
    return this.#closing === undefined && this.connection.health.healthy;
  }

  get stats(): Readonly<EventStoreDbStats> {
    return this.connection.health.stats;
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    if (this.#closing) throw storeClosed();
    const recordedAt = this.now();
    const { headers, payloads } = prepareAppend(stream, expected, events, recordedAt);
    const raw = events.map((event, i): RawEvent => {
      const data = new TextEncoder().encode(payloads[i]);
      return { id: randomUUID(), type: event.type, metadata: toMetadata(headers[i] ?? ''), data };
    });
    const name = this.#prefix + stream;
    const outcome = await this.#writing(appendRaw(this.connection, name, expected, raw));
    if (outcome.kind === 'stale') return settleStale(stream, expected, headers, outcome);
    const revision = expected + headers.length;
    return { position: outcome.position, revision, recordedAt, replayed: false };
  }

  async *readStream(
    stream: string,
    fromRevision = 0,
  ): AsyncGenerator<readonly RecordedEvent[], void, void> {
    for await (const events of readOut(this.connection, this.#prefix + stream, fromRevision))
      yield await this.#learned(events.map(toRecorded));
  }

  /** Before any event is handed on, `learn` has seen it. */
  beforeReading(learn: (events: readonly RecordedEvent[]) => Promise<void>): void {
    this.#learn = learn;
  }

  async #learned(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    await this.#learn?.(events);
    return events;
  }

  async *follow(
    after: Position,
    options: FollowOptions,
  ): AsyncGenerator<readonly RecordedEvent[], void, void> {
    if (options.signal.aborted) return;
    const goal = options.live ? Infinity : await this.end();
    const { connection } = this;
    const all = follow(connection, this.#prefix, after, { ...options, goal }, this.#followers);
    for await (const events of all) yield await this.#learned(events);
  }

  async end(): Promise<Position> {
    const last = await persist(this.connection, () => readLast(this.connection, this.#prefix));
    return last?.position ?? 0;
  }

  async putBlobs(blobs: readonly { hash: string; bytes: Uint8Array }[]): Promise<void> {
    if (this.#closing) throw storeClosed();
    await this.#writing(this.#blobs.put(blobs));
  }

  getBlob(hash: string): Promise<Uint8Array | undefined> {
    return this.#blobs.get(hash);
  }

  /** Writes under way are finished, or their outcome reported; later ones are refused. Followers end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const stop of this.#followers) stop();
    await Promise.allSettled(this.#writes);
    this.connection.close();
  }

  async #writing<T>(write: Promise<T>): Promise<T> {
    this.#writes.add(write);
    try {
      return await write;
    } finally {
      this.#writes.delete(write);
    }
  }
}

/** Another append has the place of this one. Perhaps an earlier time of the same command. */
function settleStale(
  stream: string,
  expected: number,
  headers: readonly string[],
  { actual, there }: Outcome & { kind: 'stale' },
): Appended {
  const earlier = compareEarlier(headers, there.map(headerOf));
  const last = there.at(-1);
  if (earlier.kind === 'reused') throw idReused(stream, earlier.id, earlier.storedHash);
  if (earlier.kind === 'other' || !last) throw new WrongExpectedRevision(stream, expected, actual);
  const { position, revision } = last;
  return { position, revision, recordedAt: earlier.recordedAt, replayed: true };
}

function headerOf({ metadata, position }: StoredEvent): string {
  return toHeader(metadata, `the event at ${position}`);
}

export function prefixOf(ledger: string): string {
  return `${ledger}:`;
}

/** Not below the prefix of the events: followers see no blobs. */
export function blobPrefixOf(ledger: string): string {
  return ledger === DEFAULT_LEDGER ? 'blob-' : `${ledger}.blob-`;
}

/** Not below the prefix of the events either. */
function keyPrefixOf(ledger: string): string {
  return ledger === DEFAULT_LEDGER ? 'key-' : `${ledger}.key-`;
}

export const DEFAULT_LEDGER = 'precedent';

/**
 * Opens a ledger in the cluster that `connectionString` names (`esdb://…`, `esdb+discover://…`).
 * Refuses an address that is wrong, `storage_access_denied` and `storage_untrusted` at once, and `storage_unreachable` when the
 * cluster does not answer within `settleMs`.
 */
export async function openEventStoreDb(
  connectionString: string,
  { clock, ledger = DEFAULT_LEDGER, timings }: EventStoreDbOptions,
): Promise<EventStoreDbStore> {
  if (!/^[a-z][a-z0-9_]*$/.test(ledger)) throw new Error(`${ledger} is no name of a ledger`);
  const address = readAddress(connectionString);
  const connection = new Connection(address, { ...TIMINGS, ...timings }, new Health());
  try {
    const explain = async (error: unknown) => {
      throw (await certificateProblem(address)) ?? error;
    };
    const last = await persist(connection, () =>
      readLast(connection, prefixOf(ledger)).catch(explain),
    );
    const recordedAt = last && (JSON.parse(last.header) as EventHeader).recorded_at;
    return new EventStoreDbStore(connection, ledger, monotonic(clock, recordedAt));
  } catch (error) {
    connection.close();
    throw error;
  }
}
