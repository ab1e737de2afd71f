import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { openSqliteReader } from '#event-store/sqlite.js';
import { Follower, type FollowerStatus } from './follower.js';
import type { Projection } from './projection.js';
import type { ProjectorMessage } from './projector.js';
import { rebuildMissing } from './projector-rebuild.js';
import { isDamaged, ReadDatabase } from './read-database.js';

// Runs inside the projector thread; `projectInThread` starts it and owns it.
const { ledger, path, list } = workerData as { ledger: string; path: string; list: string };
const { projections } = (await import(list)) as { projections: readonly Projection[] };
const store = openSqliteReader(ledger);
const closing = new AbortController();

function tell(message: ProjectorMessage): void {
  parentPort?.postMessage(message);
}

const fixFor = (file: string): string =>
  `stop the server and delete ${file}; the next start makes it anew from the ledger`;

function onProgress(position: number, statuses: FollowerStatus[]): void {
  tell({ kind: 'progress', position, statuses });
}

/** Until it is told to close. */
async function follow(): Promise<void> {
  const db = ReadDatabase.openForWriting(path);
  const follower = new Follower(store, db, projections, onProgress);
  const stop = (): void => void follower.close();
  closing.signal.addEventListener('abort', stop);
  try {
    await follower.catchUp();
    if (closing.signal.aborted) return;
    tell({ kind: 'ready', position: follower.position, statuses: follower.statuses });
    await follower.start();
  } finally {
    db.close();
  }
}

parentPort?.on('message', (message: 'wake' | 'close') => {
  if (message === 'wake') store.wake();
  else closing.abort();
});

try {
  await rebuildMissing({
    store,
    path,
    projections,
    onProgress,
    onUnfit: (why) => {
      tell({ kind: 'unfit', why });
    },
    signal: closing.signal,
  });
  if (!closing.signal.aborted) await follow();
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  tell({ kind: 'failed', reason: isDamaged(error) ? `${reason}: ${fixFor(path)}` : reason });
  if (!closing.signal.aborted) await once(closing.signal, 'abort');
}
await store.close();
parentPort?.close();
