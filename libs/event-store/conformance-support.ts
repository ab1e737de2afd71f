import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Refusal } from '#kernel/refusal.js';
import type { BlobStore, EventStore, FollowOptions, NewEvent } from './event-store.js';
import type { Position, RecordedEvent } from './event-store.js';

/** One ledger of an engine, empty at first. */
export interface LedgerUnderTest {
  /** The open store; another one after `reopen`. */
  store: EventStore & BlobStore;
  /** What the engine's clock says, in milliseconds; the test moves it. */
  clock: { now: number };
  /** Closes the store and opens the same ledger again. */
  reopen(): Promise<void>;
  /** Closes the store and removes the ledger. */
  dispose(): Promise<void>;
}

export function newEvent(change: Partial<NewEvent> = {}): NewEvent {
  return {
    id: randomUUID(),
    type: 'something.happened',
    version: 1,
    workspace: 'w1',
    actor: { principal: 'ann', kind: 'person', credential: 'pk_1234' },
    causation: 'command-1',
    correlation: 'request-1',
    payload: '{"n":1}',
    ...change,
  };
}

export async function collect(
  batches: AsyncIterable<readonly RecordedEvent[]>,
): Promise<RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

export function log(
  store: Pick<EventStore, 'follow'>,
  after: Position = 0,
  more: Partial<FollowOptions> = {},
) {
  const signal = new AbortController().signal;
  return collect(store.follow(after, { signal, live: false, ...more }));
}

export async function refusal(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(Refusal);
  return error as Refusal;
}
