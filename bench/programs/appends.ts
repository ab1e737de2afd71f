import type { NewEvent, RecordedEvent } from '#event-store/event-store.js';
import { openSqliteReader, openSqliteStore, type SqliteStore } from '#event-store/sqlite.js';
import { concurrently } from '../measure.js';
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
}): Promise<{ perSecond: number; cpuUs: number }> {
  const into = store;
  if (!into) throw new Error('not open');
  const events = await eventsAfter(input.from, input.after);
  const before = process.threadCpuUsage();
  const started = performance.now();
  await concurrently(events, input.width, ({ stream, revision, event }) =>
    into.append(stream, revision - 1, [event]),
  );
  const took = performance.now() - started;
  const cpu = process.threadCpuUsage(before);
  return {
    perSecond: (events.length / took) * 1_000,
    cpuUs: (cpu.user + cpu.system) / events.length,
  };
}

async function eventsAfter(dir: string, after: number) {
  const reader = openSqliteReader(dir);
  const found: { stream: string; revision: number; event: NewEvent }[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of reader.follow(after, options))
    for (const event of batch)
      found.push({ stream: event.stream, revision: event.revision, event: asNew(event) });
  await reader.close();
  return found;
}

function asNew(event: RecordedEvent): NewEvent {
  const { id, type, version, workspace, actor, causation, correlation, payload } = event;
  return { id, type, version, workspace, actor, causation, correlation, payload };
}

async function close(): Promise<void> {
  await store?.close();
}

serve({ open, run, close });
