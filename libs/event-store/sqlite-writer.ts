import { hash as digest } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import {
  parentPort,
  receiveMessageOnPort,
  workerData,
  type MessagePort,
} from 'node:worker_threads';
import { Recent } from '#kernel/recent.js';
import { compareEarlier, type EventHeader } from './header.js';
import { openForWriting, SQLITE_FULL, sqliteCode } from './sqlite-file.js';

// The writer thread of the embedded engine: all that waits when a commit ends goes into the next one. `sqlite.ts` starts it.

/**
 * Requests, flat, because an array of strings crosses threads several times faster than objects:
 * an append is its number of events, the stream, the expected revision, then header and payload of each event;
 * blobs are their number negated, then hash and bytes of each.
 */
export type Wire = (string | number | Uint8Array)[];
export type ToWriter = Wire | 'close';

/** Answer to one request of a committed transaction. A number is the position of the append's last event, 0 for blobs. */
export type Verdict =
  | number
  | { actual: number }
  | { replayed: number; recordedAt: string }
  | { reused: string; storedHash: string }
  | { falseBlob: string };

/** Answers come in the order of the requests; `count` of the oldest unanswered ones share a failure. */
export type FromWriter =
  | { kind: 'ready'; end: number; lastRecordedAt: string | undefined }
  | { kind: 'committed'; verdicts: Verdict[]; commitMs: number }
  | { kind: 'refused'; count: number; full: boolean; reason: string }
  | { kind: 'unknown'; count: number; reason: string };

/** Keeps a transaction, and what is lost with it, small. */
const APPENDS_PER_TRANSACTION = 512;
const CHARS_PER_TRANSACTION = 8_000_000;
/** Streams at most whose head is kept in memory. */
const CACHED_HEADS = 100_000;
/** Write-ahead log between two checkpoints, about; a transaction writes its events and some pages beside them. */
const CHECKPOINT_BYTES = 48_000_000;
const TRANSACTION_BYTES = 12_000;

interface Head {
  id: number;
  revision: number;
}

function statements(db: DatabaseSync) {
  return {
    end: db.prepare('SELECT coalesce(max(position), 0) AS n FROM event'),
    lastHeader: db.prepare('SELECT header FROM event ORDER BY position DESC LIMIT 1'),
    streams: db.prepare('SELECT coalesce(max(id), 0) AS n FROM stream'),
    stream: db.prepare(
      'SELECT id, (SELECT max(revision) FROM event WHERE stream = id) AS revision FROM stream WHERE name = ?',
    ),
    newStream: db.prepare('INSERT INTO stream (id, name) VALUES (?, ?)'),
    insert: db.prepare(
      'INSERT INTO event (position, stream, revision, header, payload) VALUES (?, ?, ?, ?, ?)',
    ),
    earlier: db.prepare(
      'SELECT position, header FROM event WHERE stream = ? AND revision > ? ORDER BY revision LIMIT ?',
    ),
    blob: db.prepare('INSERT OR IGNORE INTO blob (hash, bytes) VALUES (?, ?)'),
    checkpoint: db.prepare('PRAGMA wal_checkpoint(PASSIVE)'),
  };
}

class Writer {
  readonly #sql: ReturnType<typeof statements>;
  /** Heads of streams that were written lately, as the running transaction sees them. */
  readonly #heads = new Recent<Head>(CACHED_HEADS / 2);
  #end = 0;
  #streams = 0;
  #walBytes = 0;

  constructor(private readonly db: DatabaseSync) {
    this.#sql = statements(db);
    this.#reload();
  }

  ready(): FromWriter {
    const last = this.#sql.lastHeader.get()?.['header'] as string | undefined;
    const recordedAt =
      last === undefined ? undefined : (JSON.parse(last) as EventHeader).recorded_at;
    return { kind: 'ready', end: this.#end, lastRecordedAt: recordedAt };
  }

  #reload(): void {
    this.#heads.clear();
    this.#end = Number(this.#sql.end.get()?.['n']);
    this.#streams = Number(this.#sql.streams.get()?.['n']);
  }

  /** One transaction. What it returns is true once this returns: 'committed' is durable, 'refused' stored nothing. */
  transact(requests: readonly Wire[]): FromWriter {
    const before = this.#end;
    let verdicts: Verdict[];
    try {
      this.db.exec('BEGIN IMMEDIATE');
      verdicts = requests.map((request) => this.#apply(request));
    } catch (error) {
      return this.#undo(requests.length, error);
    }
    const from = performance.now();
    try {
      this.db.exec('COMMIT');
      this.#walBytes += TRANSACTION_BYTES;
    } catch (error) {
      // SQLite reports FULL when a frame could not be written; the frame that commits is the last one, so nothing is stored.
      // Every other error may come after that frame: a failed fsync, above all.
      const undone = this.#undo(requests.length, error);
      if (sqliteCode(error) === SQLITE_FULL && this.#end === before) return undone;
      return { kind: 'unknown', count: requests.length, reason: message(error) };
    }
    return { kind: 'committed', verdicts, commitMs: performance.now() - from };
  }

  #undo(count: number, error: unknown): FromWriter {
    const reason = message(error);
    try {
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      this.#reload();
      return { kind: 'refused', count, full: sqliteCode(error) === SQLITE_FULL, reason };
    } catch (second) {
      return { kind: 'unknown', count, reason: `${reason}; then ${message(second)}` };
    }
  }

  #apply(request: Wire): Verdict {
    const count = request[0] as number;
    return count > 0 ? this.#append(request, count) : this.#putBlobs(request);
  }

  #append(request: Wire, count: number): Verdict {
    const name = request[1] as string;
    const expected = request[2] as number;
    let head = this.#head(name);
    if ((head?.revision ?? -1) !== expected) return this.#settle(head, expected, request, count);
    head ??= this.#newStream(name);
    for (let i = 0; i < count; i++) {
      const header = request[3 + 2 * i] as string;
      const payload = request[4 + 2 * i] as string;
      this.#sql.insert.run(++this.#end, head.id, ++head.revision, header, payload);
      this.#walBytes += header.length + payload.length;
    }
    return this.#end;
  }

  #head(name: string): Head | undefined {
    const known = this.#heads.get(name);
    if (known) return known;
    const row = this.#sql.stream.get(name);
    if (!row) return undefined;
    return this.#keep(name, { id: Number(row['id']), revision: Number(row['revision'] ?? -1) });
  }

  #newStream(name: string): Head {
    const id = ++this.#streams;
    this.#sql.newStream.run(id, name);
    return this.#keep(name, { id, revision: -1 });
  }

  #keep(name: string, head: Head): Head {
    this.#heads.set(name, head);
    return head;
  }

  #settle(head: Head | undefined, expected: number, request: Wire, count: number): Verdict {
    const actual = head?.revision ?? -1;
    if (!head || actual < expected + count) return { actual };
    const rows = this.#sql.earlier.all(head.id, expected, count);
    const incoming = Array.from({ length: count }, (_, i) => request[3 + 2 * i] as string);
    const earlier = compareEarlier(
      incoming,
      rows.map((row) => row['header'] as string),
    );
    switch (earlier.kind) {
      case 'other':
        return { actual };
      case 'reused':
        return { reused: earlier.id, storedHash: earlier.storedHash };
      case 'same':
        return { replayed: Number(rows.at(-1)?.['position']), recordedAt: earlier.recordedAt };
    }
  }

  #putBlobs(request: Wire): Verdict {
    for (let i = 1; i < request.length; i += 2)
      if (digest('sha256', request[i + 1] as Uint8Array, 'hex') !== request[i])
        return { falseBlob: request[i] as string };
    for (let i = 1; i < request.length; i += 2) {
      const bytes = request[i + 1] as Uint8Array;
      this.#sql.blob.run(request[i] as string, bytes);
      this.#walBytes += bytes.length;
    }
    return 0;
  }

  /** Moves the write-ahead log into the database now and then. Called when the answers are out: nobody waits for it. */
  tidy(): void {
    if (this.#walBytes < CHECKPOINT_BYTES) return;
    this.#walBytes = 0;
    try {
      this.#sql.checkpoint.get();
    } catch {
      // A full disk, say. The log keeps everything; the next round tries again.
    }
  }

  close(): void {
    this.db.close();
  }
}

function message(error: unknown): string {
  return (error as Error).message;
}

/** Cuts messages into requests, and requests into transactions. */
class Inbox {
  #wires: Wire[] = [];
  #next = 0;

  add(wire: Wire): void {
    this.#wires.push(wire);
  }

  /** The oldest requests that fit into one transaction; at least one when any waits. */
  take(): Wire[] {
    const taken: Wire[] = [];
    let chars = 0;
    while (taken.length < APPENDS_PER_TRANSACTION && chars < CHARS_PER_TRANSACTION) {
      const request = this.#takeOne();
      if (!request) break;
      taken.push(request);
      for (const item of request) if (typeof item !== 'number') chars += item.length;
    }
    return taken;
  }

  #takeOne(): Wire | undefined {
    const wire = this.#wires[0];
    if (!wire) return undefined;
    const count = wire[this.#next] as number;
    const length = count > 0 ? 3 + 2 * count : 1 - 2 * count;
    const request = wire.slice(this.#next, this.#next + length);
    this.#next += length;
    if (this.#next >= wire.length) {
      this.#wires.shift();
      this.#next = 0;
    }
    return request;
  }
}

function serve(port: MessagePort, writer: Writer): void {
  const inbox = new Inbox();
  let closing = false;
  const accept = (received: ToWriter): void => {
    if (received === 'close') closing = true;
    else inbox.add(received);
  };
  const drain = (): void => {
    for (let m = receiveMessageOnPort(port); m; m = receiveMessageOnPort(port))
      accept(m.message as ToWriter);
  };
  const stop = (): void => {
    port.removeAllListeners('message');
    port.close();
  };
  port.on('message', (first: ToWriter) => {
    accept(first);
    drain();
    for (let requests = inbox.take(); requests.length > 0; requests = inbox.take()) {
      const answer = writer.transact(requests);
      port.postMessage(answer);
      // Whether the last transaction is stored is not known: anything on top of it would rest on a guess.
      if (answer.kind === 'unknown') return stop();
      writer.tidy();
      drain();
    }
    if (closing) {
      writer.close();
      stop();
    }
  });
  port.postMessage(writer.ready());
}

if (parentPort) serve(parentPort, new Writer(openForWriting((workerData as { dir: string }).dir)));
