import { setTimeout as delay } from 'node:timers/promises';
import type { BinaryEventData, WrongExpectedVersionError } from '@eventstore/db-client';
import { NO_STREAM, UnknownOutcome, type Position } from './event-store.js';
import {
  errorType,
  isRefusal,
  isUnsent,
  refusedByCluster,
  unreachable,
  type Connection,
} from './eventstoredb-connection.js';
import { backoff } from './eventstoredb-health.js';
import { readHead, readPage, toPosition, type StoredEvent } from './eventstoredb-reading.js';

/** An event for the cluster. `id` is new for every append, and the same in every attempt of that append. */
export interface RawEvent {
  id: string;
  type: string;
  metadata: Uint8Array;
  data: Uint8Array;
}

export type Outcome =
  /** By this very append. Position of its last event. */
  | { kind: 'stored'; position: Position }
  /** The stream went on without this append, which can never be stored any more. `there` holds what is in its place. */
  | { kind: 'stale'; actual: number; there: StoredEvent[] };

type Answer =
  | { kind: 'success'; position: Position | undefined }
  | { kind: 'wrong'; current: number }
  | { kind: 'unsent' | 'unknown'; reason: string }
  | { kind: 'refused'; error: unknown };

/**
 * Appends to a stream at a revision, and finds out what became of it. An append without a clear answer is looked up in the
 * stream, and sent again when it is not there: with the same ids and the same expected revision it is stored once at most,
 * and as soon as another event has that revision, never.
 *
 * The ids are not those of the product: the cluster would answer a known id with success, without comparing the content and
 * without saying that it is a repetition.
 */
export async function appendRaw(
  connection: Connection,
  stream: string,
  expected: number,
  events: readonly RawEvent[],
): Promise<Outcome> {
  const { settleMs, backoffMs } = connection.timings;
  const until = performance.now() + settleMs;
  const course: Course = { doubtful: false, reason: '' };
  for (let attempt = 0; ; attempt++) {
    const answer = await send(connection, stream, expected, events, until);
    if (answer.kind === 'unknown') doubt(connection, course, answer.reason);
    if (answer.kind === 'unsent') course.reason = answer.reason;
    if (answer.kind === 'refused') {
      // An attempt before this one may have been stored.
      course.reason ||= String(answer.error);
      throw course.doubtful ? givenUp(connection, stream, course) : refusedByCluster(answer.error);
    }
    try {
      const outcome = await settle(connection, stream, expected, events, answer);
      if (outcome) return settled(connection, course, answer, outcome);
    } catch (error) {
      doubt(connection, course, String(error));
    }
    const pause = backoff(backoffMs, attempt);
    if (connection.closed || performance.now() + pause > until)
      throw givenUp(connection, stream, course);
    await delay(pause);
  }
}

/** What is known of an append after its attempts so far. */
interface Course {
  /** One of them may have been stored. */
  doubtful: boolean;
  reason: string;
}

function doubt(connection: Connection, course: Course, reason: string): void {
  if (!course.doubtful) connection.health.stats.doubtfulAppends++;
  course.doubtful = true;
  course.reason = reason;
}

function settled(
  connection: Connection,
  course: Course,
  answer: Answer,
  outcome: Outcome,
): Outcome {
  if (answer.kind === 'wrong' && outcome.kind === 'stored')
    doubt(connection, course, 'stored, and answered with a wrong version');
  if (course.doubtful) connection.health.stats.settledAppends++;
  return outcome;
}

function givenUp(connection: Connection, stream: string, { doubtful, reason }: Course): Error {
  if (!doubtful) return unreachable(reason);
  connection.health.stats.unknownOutcomes++;
  return new UnknownOutcome(`the append to ${stream} may or may not be stored: ${reason}`);
}

async function send(
  connection: Connection,
  stream: string,
  expected: number,
  events: readonly RawEvent[],
  until: number,
): Promise<Answer> {
  const deadline = Math.max(100, Math.min(connection.timings.appendMs, until - performance.now()));
  const options = {
    ...connection.leader,
    deadline,
    expectedRevision: expected === NO_STREAM ? ('no_stream' as const) : BigInt(expected),
  };
  const data: BinaryEventData[] = events.map((event) => ({
    ...event,
    contentType: 'application/octet-stream',
  }));
  try {
    // The deadline covers neither discovery nor a call that was never begun; the second one does.
    const { position } = await connection.call(deadline + 500, (client) =>
      client.appendToStream(stream, data, options),
    );
    return { kind: 'success', position: position && toPosition(position.commit) };
  } catch (error) {
    return judge(error);
  }
}

function judge(error: unknown): Answer {
  if (errorType(error) === 'wrong-expected-version') {
    const { actualVersion } = error as WrongExpectedVersionError;
    return {
      kind: 'wrong',
      current: typeof actualVersion === 'bigint' ? Number(actualVersion) : NO_STREAM,
    };
  }
  if (isRefusal(error)) return { kind: 'refused', error };
  return { kind: isUnsent(error) ? 'unsent' : 'unknown', reason: String(error) };
}

/** What the answer and the stream together say; undefined when the append is to be sent again. */
async function settle(
  connection: Connection,
  stream: string,
  expected: number,
  events: readonly RawEvent[],
  answer: Exclude<Answer, { kind: 'refused' }>,
): Promise<Outcome | undefined> {
  if (answer.kind === 'unsent') return undefined;
  // Which event of an append of several the answered position belongs to depends on the server's version.
  if (answer.kind === 'success' && events.length === 1 && answer.position !== undefined)
    return { kind: 'stored', position: answer.position };
  const page = await readAll(connection, stream, expected + 1, events.length);
  const last = page.at(-1);
  const mine = page.length === events.length && page.every((e, i) => e.engineId === events[i]?.id);
  if (mine && last) return { kind: 'stored', position: last.position };
  if (last) {
    const actual = answer.kind === 'wrong' ? answer.current : await readHead(connection, stream);
    return { kind: 'stale', actual: Math.max(actual, last.revision), there: page };
  }
  if (answer.kind === 'wrong' && answer.current < expected)
    return { kind: 'stale', actual: answer.current, there: [] };
  return undefined;
}

/** A page may end early by its size; here all of it is compared. */
async function readAll(
  connection: Connection,
  stream: string,
  from: number,
  count: number,
): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  while (all.length < count) {
    const page = await readPage(connection, stream, from + all.length, count - all.length);
    all.push(...page.events);
    if (page.ended || page.events.length === 0) break;
  }
  return all;
}
