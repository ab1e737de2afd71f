import { Worker } from 'node:worker_threads';
import type { Clock } from '#kernel/context.js';
import type { Refusal } from '#kernel/refusal.js';
import { threadOf } from '#kernel/thread.js';
import { UnknownOutcome, WrongExpectedRevision } from './event-store.js';
import type {
  Appended,
  BlobStore,
  EventStore,
  ExpectedRevision,
  FollowOptions,
  NewEvent,
  Position,
  RecordedEvent,
} from './event-store.js';
import { Throttle } from './following.js';
import {
  closedForWriting,
  idReused,
  monotonic,
  prepareAppend,
  refusedWrite,
  storeClosed,
} from './header.js';
import { lockLedger, openForWriting, type LedgerLock } from './sqlite-file.js';
import { SqliteReader } from './sqlite-reader.js';
import type { FromWriter, ToWriter, Verdict, Wire } from './sqlite-writer.js';

export { lockLedger } from './sqlite-file.js';
export { openSqliteReader } from './sqlite-reader.js';

/** Told how many requests shared a commit and how long it took, its fsync included. */
export type CommitListener = (requests: number, commitMs: number) => void;

/** Between two calls of this thread's followers. */
const WAKE_MS = 10;

/** A request that the writer has or will get; exactly one of the two is called. */
interface Waiting {
  settle(verdict: Verdict): void;
  reject(error: Error): void;
}

/**
 * The embedded engine: SQLite in `<dir>/ledger.sqlite`, written by one thread of the one process that owns the directory.
 * After an unknown outcome it accepts no write until closed and opened again; reads go on.
 */
export class SqliteStore implements EventStore, BlobStore {
  /** Requests for the writer since the last turn of the event loop. */
  #outbox: Wire = [];
  #outboxWaiting: Waiting[] = [];
  /** Requests that the writer has not answered, oldest first. */
  #inFlight: Waiting[] = [];
  #flushing = false;
  /** Why writes are refused, once they are. */
  #stopped: Refusal | undefined;
  #closed: Promise<void> | undefined;
  #idle: (() => void) | undefined;
  readonly #followers = new Throttle(WAKE_MS, () => {
    this.reader.wake();
  });
  readonly #listeners = new Set<CommitListener>();
  readonly #exited: Promise<void>;

  constructor(
    private readonly worker: Worker,
    private readonly reader: SqliteReader,
    private readonly lock: LedgerLock,
    private readonly now: () => string,
  ) {
    this.#exited = new Promise((resolve) => {
      worker.once('exit', (code) => {
        this.#writerEnded(`the writer thread ended with code ${code}`, this.#inFlight.length);
        resolve();
      });
    });
    worker.on('error', (error) => {
      this.#writerEnded(`the writer thread failed: ${String(error)}`, this.#inFlight.length);
    });
    worker.on('message', (message: FromWriter) => {
      this.#receive(message);
    });
  }

  /** False once a write ended with an unknown outcome: reads go on, writes need a restart. */
  get healthy(): boolean {
    return this.#stopped === undefined;
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    if (this.#stopped) throw this.#stopped;
    // Stamped in the order of the queue, which is the order of the log.
    const recordedAt = this.now();
    const { headers, payloads } = prepareAppend(stream, expected, events, recordedAt);
    const count = headers.length;
    return new Promise((resolve, reject) => {
      const settle = (verdict: Verdict): void => {
        if (typeof verdict === 'number')
          resolve({ position: verdict, revision: expected + count, recordedAt, replayed: false });
        else settleStale(verdict, stream, expected, count, resolve, reject);
      };
      this.#outbox.push(count, stream, expected);
      for (let i = 0; i < count; i++)
        this.#outbox.push(headers[i] as string, payloads[i] as string);
      this.#enqueue({ settle, reject });
    });
  }

  async putBlobs(blobs: readonly { hash: string; bytes: Uint8Array }[]): Promise<void> {
    if (this.#stopped) throw this.#stopped;
    if (blobs.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (verdict: Verdict): void => {
        if (verdict === 0) resolve();
        else
          reject(
            new Error(`a blob has other bytes than its name says: ${JSON.stringify(verdict)}`),
          );
      };
      this.#outbox.push(-blobs.length);
      // Copied: the caller may go on to use the bytes, and a view would drag its whole buffer along.
      for (const { hash, bytes } of blobs) this.#outbox.push(hash, new Uint8Array(bytes));
      this.#enqueue({ settle, reject });
    });
  }

  /** One message per turn of the event loop carries all that this turn wants written. */
  #enqueue(waiting: Waiting): void {
    this.#outboxWaiting.push(waiting);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#flushing = false;
    const wire = this.#outbox;
    const waiting = this.#outboxWaiting;
    this.#outbox = [];
    this.#outboxWaiting = [];
    if (waiting.length === 0) return;
    this.#inFlight = this.#inFlight.length === 0 ? waiting : this.#inFlight.concat(waiting);
    this.worker.postMessage(wire satisfies ToWriter);
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case 'ready':
        return;
      case 'committed':
        return this.#committed(message.verdicts, message.commitMs);
      case 'refused':
        for (const waiting of this.#inFlight.splice(0, message.count))
          waiting.reject(refusedWrite(message.full, message.reason));
        break;
      case 'unknown':
        this.#writerEnded(message.reason, message.count);
    }
    this.#settled();
  }

  #committed(verdicts: readonly Verdict[], commitMs: number): void {
    const answered = this.#inFlight.splice(0, verdicts.length);
    for (const [i, waiting] of answered.entries()) waiting.settle(verdicts[i] as Verdict);
    this.reader.refresh();
    this.#followers.call();
    for (const listener of this.#listeners) listener(verdicts.length, commitMs);
    this.#settled();
  }

  /** The `unknown` oldest requests may be stored; the later ones were never begun. */
  #writerEnded(reason: string, unknown: number): void {
    this.#stopped ??= closedForWriting(reason);
    const begun = this.#inFlight.splice(0, unknown);
    const rest = [...this.#inFlight.splice(0), ...this.#outboxWaiting.splice(0)];
    this.#outbox = [];
    for (const waiting of begun)
      waiting.reject(new UnknownOutcome(`the append may or may not be stored: ${reason}`));
    for (const waiting of rest) waiting.reject(closedForWriting(reason));
    this.#settled();
  }

  #settled(): void {
    if (this.#inFlight.length === 0 && this.#outboxWaiting.length === 0) this.#idle?.();
  }

  readStream(stream: string, fromRevision?: number): AsyncIterable<readonly RecordedEvent[]> {
    return this.reader.readStream(stream, fromRevision);
  }

  follow(after: Position, options: FollowOptions): AsyncIterable<readonly RecordedEvent[]> {
    return this.reader.follow(after, options);
  }

  end(): Promise<Position> {
    return this.reader.end();
  }

  getBlob(hash: string): Promise<Uint8Array | undefined> {
    return this.reader.getBlob(hash);
  }

  /** `listener` runs after every commit, until the store closes: the projector's thread is woken by it. */
  onCommit(listener: CommitListener): void {
    this.#listeners.add(listener);
  }

  /** Writes that are under way are finished; later ones are refused. Followers end. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const alive = this.#stopped === undefined;
    this.#stopped ??= storeClosed();
    if (alive && this.#inFlight.length + this.#outboxWaiting.length > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    this.#followers.stop();
    // The writer's connection closes last: it moves the write-ahead log into the database.
    await this.reader.close();
    this.worker.postMessage('close' satisfies ToWriter);
    await this.#exited;
    this.lock.release();
  }
}

function settleStale(
  verdict: Exclude<Verdict, number>,
  stream: string,
  expected: number,
  count: number,
  resolve: (appended: Appended) => void,
  reject: (error: Error) => void,
): void {
  if ('actual' in verdict) reject(new WrongExpectedRevision(stream, expected, verdict.actual));
  else if ('reused' in verdict) reject(idReused(stream, verdict.reused, verdict.storedHash));
  else if ('replayed' in verdict) {
    const { replayed: position, recordedAt } = verdict;
    resolve({ position, revision: expected + count, recordedAt, replayed: true });
  } else reject(new Error(`unexpected verdict ${JSON.stringify(verdict)}`));
}

/**
 * Opens or creates the ledger in `dir` and takes its lock.
 * Refuses `ledger_in_use`, `storage_read_only`, `newer_ledger` and `not_a_ledger`, each without having changed the ledger.
 */
export async function openSqliteStore(
  dir: string,
  options: { clock: Clock },
): Promise<SqliteStore> {
  const lock = lockLedger(dir);
  let worker: Worker | undefined;
  try {
    // Here and not only in the thread, so that a refusal keeps its type.
    openForWriting(dir).close();
    const { url, execArgv } = threadOf(import.meta.url, './sqlite-writer');
    worker = new Worker(url, { execArgv, workerData: { dir } });
    const { lastRecordedAt } = await ready(worker);
    const now = monotonic(options.clock, lastRecordedAt);
    return new SqliteStore(worker, new SqliteReader(dir, undefined), lock, now);
  } catch (error) {
    await worker?.terminate();
    lock.release();
    throw error;
  }
}

function ready(worker: Worker): Promise<{ lastRecordedAt: string | undefined }> {
  return new Promise((resolve, reject) => {
    const ended = (code: number): void => {
      reject(new Error(`the writer thread ended with code ${code} before it was ready`));
    };
    worker.once('error', reject);
    worker.once('exit', ended);
    worker.once('message', (message: FromWriter) => {
      worker.off('error', reject);
      worker.off('exit', ended);
      if (message.kind === 'ready') resolve(message);
      else reject(new Error(`the writer thread began with ${message.kind}`));
    });
  });
}
