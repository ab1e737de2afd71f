import { hash } from 'node:crypto';
import { derivedId } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import {
  NO_STREAM,
  UnknownOutcome,
  type BlobStore,
  type EventStore,
  type NewEvent,
} from '#event-store/event-store.js';

// A fixed piece of work for fault tests: the same appends with the same ids, however often it is run. What a fault left
// unanswered is settled by running it again.

export const STREAMS = ['a', 'b', 'c'] as const;
/** Refused attempts after which a writer gives up; an injected fault comes once. */
const ATTEMPTS = 5;

export interface Work {
  /** Appends to each stream. */
  appends: number;
  /** Characters of each payload. */
  size: number;
}

/** What a writer was told about its n-th append to a stream. */
export type Told =
  | { kind: 'ack'; stream: string; n: number; position: number; replayed: boolean }
  | { kind: 'blob'; stream: string; n: number; hash: string }
  | { kind: 'no'; stream: string; n: number; error: string };

/** Appends of one, two and three events: half of one would show. */
const eventsIn = (n: number): number => 1 + (n % 3);

export function eventsOf(work: Work, stream: string, n: number): NewEvent[] {
  return Array.from({ length: eventsIn(n) }, (_, i) => ({
    id: derivedId('fault', `${stream}/${n}/${i}`),
    type: 'fault.tried',
    version: 1,
    workspace: 'w1',
    actor: { principal: 'ann', kind: 'person', credential: null },
    causation: `${stream}/${n}`,
    correlation: 'c',
    payload: `"${String(n % 10).repeat(work.size)}"`,
  }));
}

export function blobOf(stream: string, n: number): { hash: string; bytes: Uint8Array } {
  const bytes = Buffer.from(`${stream}/${n} `.repeat(500));
  return { hash: hash('sha256', bytes, 'hex'), bytes };
}

/** Number of events that the whole work stores. */
export function total({ appends }: Work): number {
  return STREAMS.length * Array.from({ length: appends }, (_, n) => eventsIn(n)).reduce(sum, 0);
}

const sum = (a: number, b: number): number => a + b;

/** All of the work, three streams at once; ends early in a stream whose writes stay refused. */
export async function appendAll(
  store: EventStore & BlobStore,
  work: Work,
  tell: (told: Told) => void,
): Promise<void> {
  await Promise.all(STREAMS.map((stream) => appendTo(store, work, stream, tell)));
}

async function appendTo(
  store: EventStore & BlobStore,
  work: Work,
  stream: string,
  tell: (told: Told) => void,
): Promise<void> {
  let head = NO_STREAM;
  for (let n = 0; n < work.appends; n++) {
    const events = eventsOf(work, stream, n);
    const stored = await tried(stream, n, tell, async () => {
      if (n % 7 === 0) {
        const blob = blobOf(stream, n);
        await store.putBlobs([blob]);
        tell({ kind: 'blob', stream, n, hash: blob.hash });
      }
      const { position, replayed } = await store.append(stream, head, events);
      tell({ kind: 'ack', stream, n, position, replayed });
    });
    if (!stored) return;
    head += events.length;
  }
}

async function tried(
  stream: string,
  n: number,
  tell: (told: Told) => void,
  write: () => Promise<void>,
): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      await write();
      return true;
    } catch (error) {
      const name = nameOf(error);
      tell({ kind: 'no', stream, n, error: name });
      if (name === 'unknown' || name === 'store_closed_for_writing') return false;
    }
  }
  return false;
}

/** A typed error by name; anything else is a defect and ends the run. */
function nameOf(error: unknown): string {
  if (error instanceof UnknownOutcome) return 'unknown';
  if (error instanceof Refusal) return error.error;
  throw error;
}
