import { Worker } from 'node:worker_threads';
import type { EventStore, Position } from '#event-store/event-store.js';
import { Refusal } from '#kernel/refusal.js';
import { threadOf } from '#kernel/thread.js';
import { Follower, type FollowerStatus } from './follower.js';
import type { Projection } from './projection.js';
import { rebuildMissing } from './projector-rebuild.js';
import { ReadDatabase } from './read-database.js';

/** Keeps the read models up to date and tells how far they are. */
export interface Projector {
  readonly position: Position;
  readonly statuses: readonly FollowerStatus[];
  /** Resolves once the read models have seen `position`; refuses `projection_lag` after `timeoutMs`. */
  reach(position: Position, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

const REACH_TIMEOUT_MS = 5_000;

class Progress {
  position: Position = 0;
  statuses: readonly FollowerStatus[] = [];
  private waiting: { position: Position; resolve: () => void }[] = [];

  moved(position: Position, statuses: readonly FollowerStatus[]): void {
    this.position = position;
    this.statuses = statuses;
    if (this.waiting.length === 0) return;
    const ready = this.waiting.filter((w) => w.position <= position);
    this.waiting = this.waiting.filter((w) => w.position > position);
    for (const w of ready) w.resolve();
  }

  async reach(position: Position, timeoutMs: number): Promise<void> {
    if (this.position >= position) return;
    const { promise, resolve } = Promise.withResolvers<'reached' | 'late'>();
    const waiter = {
      position,
      resolve: () => {
        resolve('reached');
      },
    };
    this.waiting.push(waiter);
    const timer = setTimeout(() => {
      resolve('late');
    }, timeoutMs);
    const outcome = await promise;
    clearTimeout(timer);
    if (outcome === 'reached') return;
    this.waiting = this.waiting.filter((w) => w !== waiter);
    throw new Refusal(
      'unavailable',
      'projection_lag',
      `the read models have reached position ${this.position}, not yet ${position}`,
      { path: 'at_least', fix: 'ask again in a moment' },
    );
  }
}

/** Follows inside this thread: for engines that no other thread can read. */
export async function projectHere(
  store: EventStore,
  path: string,
  projections: readonly Projection[],
  told: {
    onCatchUp?: (position: Position) => void;
    onFailure: (error: Error) => void;
    onUnfit?: (why: string) => void;
  },
): Promise<Projector> {
  const progress = new Progress();
  await rebuildMissing({
    store,
    path,
    projections,
    onProgress: (position) => told.onCatchUp?.(position),
    onUnfit: told.onUnfit,
    signal: new AbortController().signal,
  });
  const db = ReadDatabase.openForWriting(path);
  let caughtUp = false;
  const follower = new Follower(store, db, projections, (position, statuses) => {
    progress.moved(position, statuses);
    if (!caughtUp) told.onCatchUp?.(position);
  });
  progress.moved(follower.position, follower.statuses);
  await follower.catchUp();
  caughtUp = true;
  follower.start().catch(told.onFailure);
  return {
    get position() {
      return progress.position;
    },
    get statuses() {
      return progress.statuses;
    },
    reach: (position, timeoutMs = REACH_TIMEOUT_MS) => progress.reach(position, timeoutMs),
    async close() {
      await follower.close();
      db.close();
    },
  };
}

const IDLE_WAKE_MS = 50;

/** Many commits in a row are one wake-up, so that read models take no processor time from writers; a reader that waits is served at once. */
function coalesced(wake: () => void): { soon: () => void; now: () => void; stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    wake();
  };
  return {
    soon: () => {
      timer ??= setTimeout(now, IDLE_WAKE_MS);
    },
    now,
    stop: () => {
      clearTimeout(timer);
    },
  };
}

/** Messages from the projector thread. `ready` comes once, when the read models reached the end that the log had at the start. */
export type ProjectorMessage =
  | { kind: 'progress' | 'ready'; position: Position; statuses: FollowerStatus[] }
  | { kind: 'failed'; reason: string }
  | { kind: 'unfit'; why: string };

/**
 * Follows the embedded engine in a thread of its own, so that catching up never holds the event loop.
 * `list` is the URL of a module that exports `projections`; `onCommit` registers for the engine's wake-up call.
 */
export async function projectInThread(options: {
  ledger: string;
  path: string;
  list: URL;
  onCommit: (wake: () => void) => void;
  onFailure: (error: Error) => void;
  onCatchUp?: (position: Position) => void;
  onUnfit?: (why: string) => void;
}): Promise<Projector> {
  const progress = new Progress();
  const thread = threadOf(import.meta.url, './projector-thread');
  const worker = new Worker(thread.url, {
    execArgv: thread.execArgv,
    workerData: { ledger: options.ledger, path: options.path, list: options.list.href },
  });
  const ready = Promise.withResolvers<undefined>();
  let closing = false;
  let caughtUp = false;
  const fail = (error: Error): void => {
    ready.reject(error);
    if (!closing) options.onFailure(error);
  };
  worker.on('message', (message: ProjectorMessage) => {
    if (message.kind === 'failed') {
      fail(new Error(`the projector stopped: ${message.reason}`));
      return;
    }
    if (message.kind === 'unfit') {
      options.onUnfit?.(message.why);
      return;
    }
    progress.moved(message.position, message.statuses);
    if (message.kind === 'ready') {
      caughtUp = true;
      ready.resolve(undefined);
    } else if (!caughtUp) options.onCatchUp?.(message.position);
  });
  worker.on('error', fail);
  worker.on('exit', () => {
    fail(new Error('the projector thread ended'));
  });
  await ready.promise;
  const waking = coalesced(() => {
    worker.postMessage('wake');
  });
  options.onCommit(waking.soon);
  return {
    get position() {
      return progress.position;
    },
    get statuses() {
      return progress.statuses;
    },
    reach(position, timeoutMs = REACH_TIMEOUT_MS) {
      if (progress.position < position) waking.now();
      return progress.reach(position, timeoutMs);
    },
    async close() {
      waking.stop();
      closing = true;
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('close');
      await ended;
    },
  };
}
