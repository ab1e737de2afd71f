import { openSqliteStore } from '#event-store/sqlite.js';
import { appendAll } from './fault-appends.js';

// Does the work `argv[3]` (JSON) on the ledger in argv[2]. Each line on stdout is a JSON object: what a writer was told
// (writes to a pipe are synchronous: an acknowledgement that is out was received), then what a reader sees.
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const store = await openSqliteStore(process.argv[2] as string, { clock: Date.now });
say({ kind: 'opened' });
await appendAll(store, JSON.parse(process.argv[3] as string), say);
const options = { signal: new AbortController().signal, live: false };
let events = 0;
for await (const batch of store.follow(0, options)) events += batch.length;
say({ kind: 'read', events });
await store.close();
say({ kind: 'closed' });
