import { sha256 } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import type { Actor } from '#kernel/context.js';
import { LIMITS, NO_STREAM } from './event-store.js';
import type { ExpectedRevision, NewEvent, Position, RecordedEvent } from './event-store.js';

/** Members of the stored header. Position stays out: it belongs to the engine, the header to the history. */
export interface EventHeader {
  actor: Actor;
  causation: string;
  correlation: string;
  id: string;
  payload_sha256: string;
  recorded_at: string;
  revision: number;
  stream: string;
  type: string;
  version: number;
  workspace: string;
}

/** An append whose revisions, headers and size are settled; `headers[i]` belongs to `payloads[i]`. */
export interface PreparedAppend {
  headers: readonly string[];
  payloads: readonly string[];
  /** UTF-8 bytes of headers and payloads. */
  bytes: number;
}

/**
 * Canonical JSON (RFC 8785) of a header, written in key order by hand: a generic canonicaliser costs ten times as much
 * on the hottest path. A test holds the two byte-equal.
 */
export function headerText(
  event: NewEvent,
  stream: string,
  revision: number,
  recordedAt: string,
): string {
  const { actor } = event;
  const credential = actor.credential === null ? 'null' : quote('credential', actor.credential);
  return (
    `{"actor":{"credential":${credential},"kind":${quote('kind', actor.kind)},` +
    `"principal":${quote('principal', actor.principal)}},` +
    `"causation":${quote('causation', event.causation)},` +
    `"correlation":${quote('correlation', event.correlation)},` +
    `"id":${quote('id', event.id)},"payload_sha256":"${sha256(event.payload)}",` +
    `"recorded_at":"${recordedAt}","revision":${revision},"stream":${quote('stream', stream)},` +
    `"type":${quote('type', event.type)},"version":${event.version},` +
    `"workspace":${quote('workspace', event.workspace)}}`
  );
}

/** JSON.stringify spells well-formed strings exactly as RFC 8785 asks; half a surrogate pair has no UTF-8 bytes to hash. */
function quote(name: string, text: string): string {
  if (!text.isWellFormed())
    throw invalid(name, 'holds half of a surrogate pair', 'send well-formed Unicode');
  return JSON.stringify(text);
}

/** The event that was stored as `header` and `payload`. Both texts are handed on as they are. */
export function recordedEvent(position: Position, header: string, payload: string): RecordedEvent {
  const h = JSON.parse(header) as EventHeader;
  return {
    position,
    stream: h.stream,
    revision: h.revision,
    id: h.id,
    type: h.type,
    version: h.version,
    workspace: h.workspace,
    recordedAt: h.recorded_at,
    actor: h.actor,
    causation: h.causation,
    correlation: h.correlation,
    payload,
    header,
  };
}

/**
 * Headers of an append, after every limit was checked: a refusal from here means that no engine saw the events.
 * Throws a `Refusal` (`event_too_large`, `too_many_events`); a caller that breaks the contract gets a plain error.
 */
export function prepareAppend(
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
  recordedAt: string,
): PreparedAppend {
  assertContract(stream, expected, events);
  if (events.length > LIMITS.eventsPerAppend)
    throw tooLarge('too_many_events', 'events', events.length, LIMITS.eventsPerAppend, 'events');
  const headers: string[] = [];
  const payloads: string[] = [];
  let bytes = 0;
  for (const [i, event] of events.entries()) {
    const size = payloadSize(event, `events[${i}].payload`);
    const header = headerText(event, stream, expected + 1 + i, recordedAt);
    bytes += size + headerSize(header, `events[${i}]`);
    headers.push(header);
    payloads.push(event.payload);
  }
  if (bytes > LIMITS.appendBytes)
    throw tooLarge('event_too_large', 'events', bytes, LIMITS.appendBytes, 'bytes in one append');
  return { headers, payloads, bytes };
}

function headerSize(header: string, path: string): number {
  const size = Buffer.byteLength(header);
  if (size > LIMITS.headerBytes)
    throw tooLarge('event_too_large', path, size, LIMITS.headerBytes, 'bytes in one header');
  return size;
}

function payloadSize(event: NewEvent, path: string): number {
  const size = Buffer.byteLength(event.payload);
  if (size > LIMITS.payloadBytes)
    throw tooLarge('event_too_large', path, size, LIMITS.payloadBytes, 'bytes in one payload');
  if (!event.payload.isWellFormed())
    throw invalid(path, 'holds half of a surrogate pair', 'send well-formed Unicode');
  if (!Number.isSafeInteger(event.version)) throw new Error(`${event.type} has no version`);
  return size;
}

function assertContract(
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): void {
  if (!Number.isSafeInteger(expected) || expected < NO_STREAM)
    throw new Error(`${expected} is no revision to expect`);
  if (stream === '') throw new Error('a stream needs a name');
  if (events.length === 0) throw new Error(`an append to ${stream} without events`);
  if (events.length > 1 && new Set(events.map((e) => e.id)).size < events.length)
    throw new Error(`an append to ${stream} holds one event id twice`);
  if (stream.length > LIMITS.streamName)
    throw tooLarge('event_too_large', 'stream', stream.length, LIMITS.streamName, 'characters');
}

function tooLarge(
  error: string,
  path: string,
  found: number,
  limit: number,
  unit: string,
): Refusal {
  const problem = `${found} ${unit}; the limit is ${limit}`;
  return new Refusal('too_large', error, `${path}: ${problem}`, {
    path,
    issues: [{ path, problem }],
    fix: `send at most ${limit} ${unit}`,
  });
}

/** What a stream already holds where an append with a stale expected revision wanted to write. */
export type Earlier =
  /** Exactly these events: the append is a retry. */
  | { kind: 'same'; recordedAt: string }
  /** An event with this id and other content. */
  | { kind: 'reused'; id: string; storedHash: string }
  /** Other events, or fewer. */
  | { kind: 'other' };

/**
 * Compares an append with the headers stored at its revisions (`expected + 1` on, as many as there are, at most as many
 * as the append has). The whole append must be there: a part of it is another append.
 */
export function compareEarlier(incoming: readonly string[], stored: readonly string[]): Earlier {
  if (stored.length < incoming.length) return { kind: 'other' };
  const pairs = incoming.map((text, i) => {
    return [JSON.parse(text), JSON.parse(stored[i] as string)] as [EventHeader, EventHeader];
  });
  if (pairs.some(([mine, theirs]) => mine.id !== theirs.id)) return { kind: 'other' };
  const reused = pairs.find(
    ([mine, theirs]) => mine.payload_sha256 !== theirs.payload_sha256 || mine.type !== theirs.type,
  );
  if (reused) return { kind: 'reused', id: reused[1].id, storedHash: reused[1].payload_sha256 };
  return { kind: 'same', recordedAt: pairs[0]?.[1].recorded_at ?? '' };
}

/** Refusal of an event id that is stored with other content. */
export function idReused(stream: string, id: string, storedHash: string): Refusal {
  return new Refusal(
    'key_reused',
    'request_id_conflict',
    `event ${id} is stored in ${stream} with another payload, of SHA-256 ${storedHash}`,
    { fix: 'use a new request id for another request' },
  );
}

/** Refusal of a write to a store after `close`. */
export function storeClosed(): Refusal {
  return new Refusal('unavailable', 'store_closed', 'the ledger is closed', {
    fix: 'try again once the server is up',
  });
}

/** Refusal of a write that the disk did not take. */
export function refusedWrite(full: boolean, reason: string): Refusal {
  return full
    ? new Refusal('unavailable', 'storage_full', `nothing was stored: ${reason}`, {
        fix: 'make room on the disk; retry with the same ids',
      })
    : new Refusal('unavailable', 'storage_error', `nothing was stored: ${reason}`, {
        fix: 'look after the disk; retry with the same ids',
      });
}

/** Refusal of every write after one whose outcome is unknown. */
export function closedForWriting(reason: string): Refusal {
  return new Refusal(
    'unavailable',
    'store_closed_for_writing',
    `the ledger accepts no writes since a write ended with an unknown outcome: ${reason}`,
    { fix: 'restart the server; retry with the same ids' },
  );
}

/** Gives the time of each append: the clock's, but never before an earlier append's, whatever the clock does (B22). */
export function monotonic(clock: () => number, lastRecordedAt: string | undefined): () => string {
  let last = lastRecordedAt === undefined ? -Infinity : Date.parse(lastRecordedAt);
  let text = lastRecordedAt ?? '';
  return () => {
    const now = clock();
    if (now > last) {
      last = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}
