import type { Bench } from './bench.js';
import { startServer } from './children.js';
import { seedRevised, seedTopics } from './seed.js';

/** Events that a decided topic takes, its share of a source included. */
const EVENTS_PER_TOPIC = 4.1;

/** Decided topics that make about so many events. */
export function topicsFor(events: number): number {
  return Math.ceil(events / EVENTS_PER_TOPIC);
}

/** A ledger of so many decided topics with warm read models, made once a run. Rows that write to it take a copy. */
export function decidedLedger(bench: Bench, topics: number): Promise<string> {
  return bench.shared(`${topics} topics`, (dir) =>
    warmed(bench, dir, `${topics} decided topics`, () => seedTopics(dir, topics, true)),
  );
}

/** The same, and beside them a topic for each of `times`, decided anew so many times. */
export function revisedLedger(
  bench: Bench,
  topics: number,
  times: readonly number[],
): Promise<string> {
  const what = `${topics} decided topics, others decided ${times.join(' and ')} times`;
  return bench.shared(what, (dir) =>
    warmed(bench, dir, what, async () => {
      await seedTopics(dir, topics, true);
      for (const each of times) await seedRevised(dir, each);
    }),
  );
}

async function warmed(
  bench: Bench,
  dir: string,
  what: string,
  seed: () => Promise<void>,
): Promise<void> {
  const started = performance.now();
  await seed();
  const seconds = (performance.now() - started) / 1_000;
  const server = await startServer(bench, dir, 'first start');
  await server.end();
  bench.note(
    `${what}: appended in ${seconds.toFixed(1)} s; ` +
      `first start, which projects them, ${(server.startMs / 1_000).toFixed(1)} s`,
  );
}
