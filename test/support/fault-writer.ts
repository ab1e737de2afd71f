import { derivedId } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { UnknownOutcome, type NewEvent } from '#event-store/event-store.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { rmSync } from 'node:fs';

// Appends to the ledger in argv[2] until a write fails, removes `<argv[2]>/ballast`, tries once more, and tells on
// stdout what happened. Event n always has the same id, so that another run can retry it.
const dir = process.argv[2] as string;
const store = await openSqliteStore(dir, { clock: Date.now });

function event(n: number): NewEvent {
  return {
    id: derivedId('fault', String(n)),
    type: 'fault.tried',
    version: 1,
    workspace: 'w1',
    actor: { principal: 'ann', kind: 'person', credential: null },
    causation: 'c',
    correlation: 'c',
    payload: `"${'x'.repeat(20_000)}"`,
  };
}

async function attempt(n: number): Promise<string> {
  try {
    const { replayed } = await store.append('fault', n - 1, [event(n)]);
    return replayed ? 'replayed' : 'stored';
  } catch (error) {
    if (error instanceof UnknownOutcome) return 'unknown';
    if (error instanceof Refusal) return error.error;
    throw error;
  }
}

async function readable(): Promise<number> {
  let count = 0;
  for await (const batch of store.readStream('fault')) count += batch.length;
  return count;
}

let acknowledged = Number(process.argv[3] ?? 0);
let failure = await attempt(acknowledged);
if (acknowledged === 0)
  while (failure === 'stored' && acknowledged < 1_000) failure = await attempt(++acknowledged);
const seen = await readable();
rmSync(`${dir}/ballast`, { force: true });
const next = failure === 'stored' || failure === 'replayed' ? failure : await attempt(acknowledged);
await store.close();
process.stdout.write(JSON.stringify({ acknowledged, failure, readable: seen, next }));
