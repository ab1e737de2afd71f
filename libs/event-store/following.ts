import { setImmediate } from 'node:timers/promises';
import type { FollowOptions, Position, RecordedEvent } from './event-store.js';

/** Wakes whoever waits for the log to grow. Closing it ends every wait and every follower. */
export class Wakeup {
  #closed = false;
  readonly #waiting = new Set<() => void>();

  get closed(): boolean {
    return this.#closed;
  }

  wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Resolves at the next wake, at the abort, or after `timeoutMs`, whichever is first. */
  wait(signal: AbortSignal, timeoutMs?: number): Promise<void> {
    if (signal.aborted || this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(done, timeoutMs);
      signal.addEventListener('abort', done);
      this.#waiting.add(done);
    });
  }
}

/** Runs `work` at once after a pause, and once for many calls in a row. */
export class Throttle {
  #timer: NodeJS.Timeout | undefined;
  #called = false;

  constructor(
    private readonly pauseMs: number,
    private readonly work: () => void,
  ) {}

  call(): void {
    if (this.#timer) {
      this.#called = true;
      return;
    }
    this.#called = false;
    this.work();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#called) this.call();
    }, this.pauseMs);
  }

  /** Nothing runs after this, however it was called before. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#called = false;
  }
}

/** How an engine reads: synchronously, so that no commit can fall between an empty page and the wait for the next one. */
export interface LogReader {
  end(): Position;
  /** At most `limit` events after a position, in order; empty only at the end of the log. */
  page(after: Position, limit: number): RecordedEvent[];
}

/**
 * `EventStore.follow` over a synchronous reader. Not live, it delivers what was in the log when iteration began.
 * With `pollMs` the log is looked at that often as well, for a reader that nobody wakes.
 */
export async function* followLog(
  reader: LogReader,
  wakeup: Wakeup,
  after: Position,
  options: FollowOptions,
  pollMs?: number,
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  const { signal, live, batch = 512 } = options;
  const goal = live ? Infinity : reader.end();
  let at = after;
  while (at < goal && !signal.aborted && !wakeup.closed) {
    const page = wholeAppends(reader, reader.page(at, Math.min(batch, goal - at)));
    const last = page.at(-1);
    if (last) {
      at = last.position;
      yield page;
      // A long log is read between other work of this thread, not instead of it.
      await setImmediate();
    } else if (live) await wakeup.wait(signal, pollMs);
    else return;
  }
}

/**
 * The page without the beginning of an append that goes on behind it, so that followers show an append at once. An append that is
 * longer than the page is given in parts.
 */
function wholeAppends(reader: LogReader, page: RecordedEvent[]): RecordedEvent[] {
  const last = page.at(-1);
  if (!last || last.position >= reader.end()) return page;
  const [next] = reader.page(last.position, 1);
  if (!next || !isOneAppend(last, next)) return page;
  const whole = page.findLastIndex((event) => !isOneAppend(event, next)) + 1;
  return whole === 0 ? page : page.slice(0, whole);
}

function isOneAppend(a: RecordedEvent, b: RecordedEvent): boolean {
  return a.stream === b.stream && a.causation === b.causation;
}

/** A part of a stream. `whole`: the stream had no more when it was read. */
export interface StreamPage {
  events: RecordedEvent[];
  whole: boolean;
}

/** `EventStore.readStream` over a synchronous page function. */
export async function* readPages(
  from: number,
  page: (from: number) => StreamPage,
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  for (let at = from; ;) {
    const { events, whole } = page(at);
    const last = events.at(-1);
    if (last) yield events;
    if (whole || !last) return;
    at = last.revision + 1;
    // A long stream is read between other work of this thread, not instead of it.
    await setImmediate();
  }
}
