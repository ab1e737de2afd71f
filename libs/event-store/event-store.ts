import type { Actor } from '#kernel/context.js';

/**
 * Place of an event in the log: > 0, rising, with gaps on some engines. A safe integer inside, a decimal string outside.
 * 0 stands before the first event.
 */
export type Position = number;

/** Revision that a stream must have for an append: that of its last event, or −1 for a stream that must not exist. Never "any". */
export type ExpectedRevision = number;
export const NO_STREAM = -1;

export interface NewEvent {
  /** UUID derived from the command (`derivedId`), so that the same append sent again is recognised. */
  id: string;
  type: string;
  version: number;
  workspace: string;
  actor: Actor;
  /** Id of the command that caused it. */
  causation: string;
  /** Id that everything caused by one request shares. */
  correlation: string;
  /** Canonical JSON text; these bytes are stored and hashed, nothing is serialised again. */
  payload: string;
}

export interface RecordedEvent {
  position: Position;
  stream: string;
  revision: number;
  id: string;
  type: string;
  version: number;
  workspace: string;
  /** ISO 8601 UTC with milliseconds. Never decreases along the log. */
  recordedAt: string;
  actor: Actor;
  causation: string;
  correlation: string;
  payload: string;
  /**
   * Canonical JSON text of everything above but position and payload, with the payload's SHA-256 (`header.ts`).
   * Stored bytes. Stream and revision are in it, so that a moved event is found.
   */
  header: string;
}

export interface Appended {
  /** Of the last event of the append. */
  position: Position;
  revision: number;
  recordedAt: string;
  /** The same ids were stored before: nothing was added, and the values above are those of the first time. */
  replayed: boolean;
}

/** The stream has another revision than expected. Nothing was stored; read again and decide again. */
export class WrongExpectedRevision extends Error {
  constructor(
    readonly stream: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`stream ${stream} is at revision ${actual}, expected ${expected}`);
    this.name = 'WrongExpectedRevision';
  }
}

/** The append may or may not have been stored. The engine accepts no more writes until reopened; a retry with the same ids settles it. */
export class UnknownOutcome extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnknownOutcome';
  }
}

/** Limits that every engine refuses before any write, with a `Refusal` of error `event_too_large` or `too_many_events`. */
export const LIMITS = {
  /** Bytes of one event's payload in UTF-8. */
  payloadBytes: 900_000,
  /** Bytes of one event's header in UTF-8: what a bundle of log entries can hold. */
  headerBytes: 65_535,
  /** Events in one append. */
  eventsPerAppend: 500,
  /** Bytes of one append, headers included. Below what EventStoreDB takes, so that a ledger can move between engines. */
  appendBytes: 1_000_000,
  /** Characters in a stream name. */
  streamName: 400,
} as const;

export interface FollowOptions {
  /** Ends the iteration; a pending wait returns at once. */
  signal: AbortSignal;
  /** True: wait at the end for more. False: end there. */
  live: boolean;
  /** Events in a batch at most; default 512. */
  batch?: number;
}

/**
 * An append-only log of streams.
 *
 * `append` resolves only once the events are durable; one append touches one stream and is stored whole or not at all.
 * It throws `WrongExpectedRevision`, a `Refusal` (limits, disk full: nothing stored) or `UnknownOutcome`.
 * `readStream` and `follow` deliver every event exactly once and in order, and never pass a position that is not yet visible.
 * All engines pass `conformance.ts`.
 */
export interface EventStore {
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended>;
  /** Events of one stream from a revision on, in batches. A stream that does not exist has none. */
  readStream(stream: string, fromRevision?: number): AsyncIterable<readonly RecordedEvent[]>;
  /** Events of the whole log after a position, in batches. */
  follow(after: Position, options: FollowOptions): AsyncIterable<readonly RecordedEvent[]>;
  /** Position of the last durable event; 0 when empty. */
  end(): Promise<Position>;
  close(): Promise<void>;
}

/**
 * Immutable text by content hash, beside the log. `put` resolves once durable; an event that names a hash is appended only after that.
 * Putting the same bytes again is a no-op.
 */
export interface BlobStore {
  /** `bytes` and its lower-case hex SHA-256; several at once share one write. */
  putBlobs(blobs: readonly { hash: string; bytes: Uint8Array }[]): Promise<void>;
  getBlob(hash: string): Promise<Uint8Array | undefined>;
}
