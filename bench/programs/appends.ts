import { openSqliteStore, type SqliteStore } from '#event-store/sqlite.js';
import { concurrently } from '../measure.js';
import { eventsAfter } from '../recorded.js';
import type { Ran } from './commands.js';
import { serve } from './program.js';

// Reference of B1a: what the product appended, appended again to a ledger that was equal before, with nothing around it.
let store: SqliteStore | undefined;

async function open(dir: string): Promise<void> {
  store = await openSqliteStore(dir, { clock: Date.now });
}

/** Appends the events that stand in the ledger `from` after a position, each to the stream and revision that it has there. */
async function run(input: {
  from: string;
  after: number;
  width: number;
}): Promise<Pick<Ran, 'perSecond' | 'cpuUs' | 'allCpuUs'>> {
  const into = store;
  if (!into) throw new Error('not open');
  const events = await eventsAfter(input.from, input.after);
  const [before, allBefore] = [process.threadCpuUsage(), process.cpuUsage()];
  const started = performance.now();
  await concurrently(events, input.width, ({ stream, revision, event }) =>
    into.append(stream, revision - 1, [event]),
  );
  const took = performance.now() - started;
  const cpu = process.threadCpuUsage(before);
  const allCpu = process.cpuUsage(allBefore);
  return {
    perSecond: (events.length / took) * 1_000,
    cpuUs: (cpu.user + cpu.system) / events.length,
    allCpuUs: (allCpu.user + allCpu.system) / events.length,
  };
}

async function close(): Promise<void> {
  await store?.close();
}

serve({ open, run, close });
