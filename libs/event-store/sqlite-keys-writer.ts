import {
  parentPort,
  receiveMessageOnPort,
  workerData,
  type MessagePort,
} from 'node:worker_threads';
import { SQLITE_FULL, sqliteCode } from './sqlite-file.js';
import { openKeysForWriting } from './sqlite-keys-file.js';

// The writer thread of the keys: its syncs hold nobody else. `sqlite-keys.ts` starts it.

export type ToKeysWriter =
  | { kind: 'ensure'; keys: { id: string; bytes: Uint8Array }[] }
  | { kind: 'destroy'; id: string }
  | { kind: 'close' };

/** Answers come in the order of the work. */
export type FromKeysWriter = { kind: 'done' } | { kind: 'refused'; full: boolean; reason: string };

const { path } = workerData as { path: string };
const db = openKeysForWriting(path);
const insert = db.prepare('INSERT OR IGNORE INTO key (id, bytes) VALUES (?, ?)');
const overwrite = db.prepare('UPDATE key SET bytes = zeroblob(length(bytes)) WHERE id = ?');
const destroy = db.prepare(
  'INSERT INTO key (id, bytes) VALUES (?, NULL) ON CONFLICT (id) DO UPDATE SET bytes = NULL',
);

type Work = Exclude<ToKeysWriter, { kind: 'close' }>;

/** Keeps what is lost with one transaction small. */
const WORK_PER_TRANSACTION = 500;

function run(work: Work): void {
  if (work.kind === 'ensure') for (const { id, bytes } of work.keys) insert.run(id, bytes);
  else {
    overwrite.run(work.id);
    destroy.run(work.id);
  }
}

function transaction(works: readonly Work[]): FromKeysWriter {
  try {
    db.exec('BEGIN IMMEDIATE');
    works.forEach(run);
    db.exec('COMMIT');
    return { kind: 'done' };
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'refused', full: sqliteCode(error) === SQLITE_FULL, reason };
  }
}

/** All that waits when a commit ends goes into the next one. */
function serve(port: MessagePort, first: ToKeysWriter): void {
  const works: Work[] = [];
  let next: ToKeysWriter | undefined = first;
  while (next && next.kind !== 'close') {
    works.push(next);
    next =
      works.length < WORK_PER_TRANSACTION
        ? (receiveMessageOnPort(port)?.message as ToKeysWriter | undefined)
        : undefined;
  }
  if (works.length > 0) {
    const answer = transaction(works);
    for (const _work of works) port.postMessage(answer);
  }
  if (!next) return;
  db.close();
  port.close();
}

parentPort?.on('message', (work: ToKeysWriter) => {
  if (parentPort) serve(parentPort, work);
});
