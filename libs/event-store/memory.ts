import type { Clock } from '#kernel/context.js';
import { sha256 } from '#kernel/json.js';
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
import { followLog, readPages, Wakeup } from './following.js';
import {
  compareEarlier,
  idReused,
  monotonic,
  prepareAppend,
  recordedEvent,
  storeClosed,
} from './header.js';

const STREAM_PAGE = 512;

/** What a memory store holds. Given to a second store it stands for a reopened ledger. */
export interface MemoryLog {
  events: RecordedEvent[];
  streams: Map<string, RecordedEvent[]>;
  blobs: Map<string, Uint8Array>;
}

/** The engine of tests and of `memory:`. Same behaviour as the durable ones; everything is gone with the process. */
export class MemoryStore implements EventStore, BlobStore {
  readonly #wakeup = new Wakeup();
  readonly #now: () => string;

  constructor(
    clock: Clock,
    readonly log: MemoryLog = { events: [], streams: new Map(), blobs: new Map() },
  ) {
    this.#now = monotonic(clock, log.events.at(-1)?.recordedAt);
  }

  // The body runs before the first await of any caller, so two appends never interleave.
  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    this.#assertOpen();
    const recordedAt = this.#now();
    const { headers, payloads } = prepareAppend(stream, expected, events, recordedAt);
    const held = this.log.streams.get(stream) ?? [];
    if (held.length - 1 !== expected) return this.#settle(stream, expected, headers, held);
    for (const [i, header] of headers.entries()) {
      const event = recordedEvent(this.log.events.length + 1, header, payloads[i] as string);
      this.log.events.push(event);
      held.push(event);
    }
    this.log.streams.set(stream, held);
    this.#wakeup.wake();
    return {
      position: this.log.events.length,
      revision: held.length - 1,
      recordedAt,
      replayed: false,
    };
  }

  #settle(
    stream: string,
    expected: ExpectedRevision,
    headers: readonly string[],
    held: readonly RecordedEvent[],
  ): Appended {
    const there = held.slice(expected + 1, expected + 1 + headers.length);
    const earlier = compareEarlier(
      headers,
      there.map((e) => e.header),
    );
    const last = there.at(-1);
    if (earlier.kind === 'reused') throw idReused(stream, earlier.id, earlier.storedHash);
    if (earlier.kind === 'other' || !last)
      throw new WrongExpectedRevision(stream, expected, held.length - 1);
    const { position, revision } = last;
    return { position, revision, recordedAt: earlier.recordedAt, replayed: true };
  }

  readStream(stream: string, fromRevision = 0): AsyncIterable<readonly RecordedEvent[]> {
    return readPages(fromRevision, (from) => {
      const held = this.log.streams.get(stream) ?? [];
      const to = from + STREAM_PAGE;
      return { events: held.slice(from, to), whole: to >= held.length };
    });
  }

  follow(after: Position, options: FollowOptions): AsyncIterable<readonly RecordedEvent[]> {
    const reader = {
      end: () => this.log.events.length,
      page: (from: Position, limit: number) => this.log.events.slice(from, from + limit),
    };
    return followLog(reader, this.#wakeup, after, options);
  }

  end(): Promise<Position> {
    return Promise.resolve(this.log.events.length);
  }

  async putBlobs(blobs: readonly { hash: string; bytes: Uint8Array }[]): Promise<void> {
    this.#assertOpen();
    for (const { hash, bytes } of blobs)
      if (sha256(bytes) !== hash)
        throw new Error(`blob ${hash} has other bytes than its name says`);
    for (const { hash, bytes } of blobs) {
      if (!this.log.blobs.has(hash)) this.log.blobs.set(hash, new Uint8Array(bytes));
    }
  }

  getBlob(hash: string): Promise<Uint8Array | undefined> {
    const bytes = this.log.blobs.get(hash);
    return Promise.resolve(bytes && new Uint8Array(bytes));
  }

  close(): Promise<void> {
    this.#wakeup.close();
    return Promise.resolve();
  }

  #assertOpen(): void {
    if (this.#wakeup.closed) throw storeClosed();
  }
}
