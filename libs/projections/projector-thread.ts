import { parentPort, workerData } from 'node:worker_threads';
import { openSqliteReader } from '#event-store/sqlite.js';
import { Follower } from './follower.js';
import type { Projection } from './projection.js';
import type { ProjectorMessage } from './projector.js';
import { ReadDatabase } from './read-database.js';

// Runs inside the projector thread; `projectInThread` starts it and owns it.
const { ledger, path, list } = workerData as { ledger: string; path: string; list: string };
const { projections } = (await import(list)) as { projections: readonly Projection[] };
const store = openSqliteReader(ledger);
const db = ReadDatabase.openForWriting(path);

function tell(message: ProjectorMessage): void {
  parentPort?.postMessage(message);
}

const follower = new Follower(store, db, projections, (position, statuses) => {
  tell({ kind: 'progress', position, statuses });
});

parentPort?.on('message', (message: 'wake' | 'close') => {
  if (message === 'wake') {
    store.wake();
    return;
  }
  void follower
    .close()
    .then(() => store.close())
    .then(() => {
      db.close();
      parentPort?.close();
    });
});

try {
  await follower.catchUp();
  tell({ kind: 'ready', position: follower.position, statuses: follower.statuses });
  await follower.start();
} catch (error) {
  tell({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
}
