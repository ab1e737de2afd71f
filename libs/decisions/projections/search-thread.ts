import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openKeysForReading } from '#event-store/sqlite-keys.js';
import { openedText, Opener } from '#kernel/sealing.js';
import { ReadDatabase } from '#projections/read-database.js';
import {
  SearchEngine,
  TextsUnavailable,
  type SearchReply,
  type SearchRequest,
} from './search-engine.js';

// Runs inside the search thread; `Search` starts it and owns it.
const { path } = workerData as { path: string };
// Its own handle on the keys, which are beside the read models. After an erasure another thread takes its place.
const keys = openKeysForReading(dirname(path));
const keyOf = (id: string) => keys?.key(id);
const db = ReadDatabase.openForReading(path, new Opener(keyOf));
// It reads everything once: the file's pages are not to stay in memory for that.
db.exec('PRAGMA mmap_size=0; PRAGMA cache_size=-16384');
const asked = new Map<number, PromiseWithResolvers<(Uint8Array | undefined)[]>>();
let last = 0;

function tell(reply: SearchReply): void {
  parentPort?.postMessage(reply);
}

const engine = new SearchEngine(
  db,
  (hashes) => {
    const texts = Promise.withResolvers<(Uint8Array | undefined)[]>();
    asked.set(++last, texts);
    tell({ kind: 'texts', id: last, hashes: [...hashes] });
    return texts.promise;
  },
  ({ blob }, stored) => {
    const text = blob === undefined ? stored : openedText(stored, keyOf);
    return text === 'erased' ? undefined : text;
  },
);

parentPort?.on('message', (request: SearchRequest) => {
  if (request.kind === 'close') {
    db.close();
    void keys?.close();
    parentPort?.close();
    return;
  }
  if (request.kind === 'texts') {
    const texts = asked.get(request.id);
    if (request.texts) texts?.resolve(request.texts);
    else texts?.reject(new TextsUnavailable());
    asked.delete(request.id);
    return;
  }
  engine.near(request).then(
    (near) => {
      tell({ kind: 'near', id: request.id, near });
    },
    (error: unknown) => {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      tell({ kind: 'failed', id: request.id, reason });
    },
  );
});
