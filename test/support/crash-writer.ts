import { randomUUID } from 'node:crypto';
import { NO_STREAM, WrongExpectedRevision } from '#event-store/event-store.js';
import { openSqliteStore } from '#event-store/sqlite.js';

// Appends to the ledger in argv[2] from eight writers until it is killed; a line `id position` on stdout is an
// acknowledgement that a caller has received (writes to a pipe are synchronous).
const store = await openSqliteStore(process.argv[2] as string, { clock: Date.now });

async function write(stream: string): Promise<void> {
  for (let head = NO_STREAM; ;) {
    const id = randomUUID();
    const event = {
      id,
      type: 'crash.tried',
      version: 1,
      workspace: 'w1',
      actor: { principal: 'ann', kind: 'person' as const, credential: null },
      causation: id,
      correlation: id,
      payload: `"${'x'.repeat(600)}"`,
    };
    try {
      const { position, revision } = await store.append(stream, head, [event]);
      process.stdout.write(`${id} ${position}\n`);
      head = revision;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      head = error.actual;
    }
  }
}

await Promise.all(Array.from({ length: 8 }, (_, i) => write(`writer-${i}`)));
