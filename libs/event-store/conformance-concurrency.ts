import { expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { sha256 } from '#kernel/json.js';
import { collect, log, newEvent, type LedgerUnderTest } from './conformance-support.js';
import { NO_STREAM, WrongExpectedRevision } from './event-store.js';
import type { Appended, EventStore, Position } from './event-store.js';

/** What must hold while many write and read at once. `events` scales the work to the engine. */
export function describeConcurrency(ledger: () => LedgerUnderTest, events: number): void {
  it('P3: of concurrent appends to one revision exactly one wins, and what was acknowledged is read at once', async () => {
    const { store } = ledger();
    const acknowledged = new Map<string, Appended>();
    await Promise.all(Array.from({ length: 8 }, () => race(store, 25, acknowledged)));
    const stored = await collect(store.readStream('raced'));
    expect(stored.map((e) => e.revision)).toEqual(Array.from({ length: 200 }, (_, i) => i));
    for (const event of stored)
      expect(acknowledged.get(event.id)).toMatchObject({
        position: event.position,
        revision: event.revision,
        recordedAt: event.recordedAt,
      });
    expect(acknowledged.size).toBe(200);
  });

  it(`B24: 16 writers, ${events} events, 3 subscribers restarted 50 times: no position skipped, none twice`, async () => {
    const { store } = ledger();
    const restarts = { left: 50 };
    const written = Promise.all(
      Array.from({ length: 16 }, (_, w) => write(store, `writer-${w}`, Math.ceil(events / 16))),
    );
    const done = written.then(() => store.end());
    const subscribers = [1, 2, 3].map(() => new Subscriber(store, restarts));
    await Promise.all(subscribers.map((s) => s.run(done)));
    const positions = (await log(store)).map((e) => e.position);
    expect(positions).toHaveLength(16 * Math.ceil(events / 16));
    const whole = sha256(positions.join());
    for (const subscriber of subscribers) {
      expect(sha256(subscriber.seen.join())).toBe(whole);
      for (const { after, delivered } of subscriber.runs) {
        const start = after === 0 ? 0 : positions.indexOf(after) + 1;
        expect(sha256(delivered.join())).toBe(
          sha256(positions.slice(start, start + delivered.length).join()),
        );
      }
    }
    expect(restarts.left).toBe(0);
  }, 120_000);
}

async function race(
  store: EventStore,
  wins: number,
  acknowledged: Map<string, Appended>,
): Promise<void> {
  let head = NO_STREAM;
  for (let won = 0; won < wins;) {
    const event = newEvent();
    try {
      const appended = await store.append('raced', head, [event]);
      acknowledged.set(event.id, appended);
      const [mine] = await collect(store.readStream('raced', appended.revision));
      expect(mine?.id).toBe(event.id);
      head = appended.revision;
      won++;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      // No older head than one that was acknowledged may be answered later.
      expect(error.actual).toBeGreaterThan(head);
      head = error.actual;
    }
  }
}

async function write(store: EventStore, stream: string, count: number): Promise<void> {
  for (let revision = NO_STREAM; revision < count - 1;) {
    const size = Math.min(randomInt(1, 8), count - 1 - revision);
    const events = Array.from({ length: size }, () => newEvent());
    revision = (await store.append(stream, revision, events)).revision;
  }
}

class Subscriber {
  /** Every position once, in the order of the first delivery. */
  readonly seen: Position[] = [];
  readonly runs: { after: Position; delivered: Position[] }[] = [];
  private goal = Infinity;

  constructor(
    private readonly store: EventStore,
    private readonly restarts: { left: number },
  ) {}

  /** Follows, is stopped after a random number of events and starts again at a random checkpoint, until it has the end. */
  async run(done: Promise<Position>): Promise<void> {
    const atEnd = new AbortController();
    const ended = done.then((end) => {
      this.goal = end;
      atEnd.abort();
    });
    while ((this.seen.at(-1) ?? 0) < this.goal || this.restarts.left > 0) {
      const restart = this.restarts.left > 0;
      if (restart) this.restarts.left--;
      const live = this.goal === Infinity;
      await this.follow(restart, live ? atEnd.signal : new AbortController().signal, live);
    }
    await ended;
  }

  private checkpoint(random: boolean): Position {
    if (!random) return this.seen.at(-1) ?? 0;
    return this.seen.at(-1 - randomInt(0, 1_000)) ?? 0;
  }

  private async follow(random: boolean, end: AbortSignal, live: boolean): Promise<void> {
    const after = this.checkpoint(random);
    const limit = random ? randomInt(1, 2_000) : Infinity;
    const delivered: Position[] = [];
    this.runs.push({ after, delivered });
    const enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, end]);
    const batch = randomInt(1, 600);
    for await (const events of this.store.follow(after, { signal, live, batch })) {
      for (const { position } of events) {
        delivered.push(position);
        if (position > (this.seen.at(-1) ?? 0)) this.seen.push(position);
      }
      if (delivered.length >= limit) enough.abort();
    }
  }
}
