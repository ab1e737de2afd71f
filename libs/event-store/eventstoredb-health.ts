/** How long this engine waits, in milliseconds. */
export interface Timings {
  /** For the answer to one append. */
  appendMs: number;
  /** For all that one append or read may need: attempts, pauses, reading back. After that its outcome is reported as it is. */
  settleMs: number;
  /** For the next event of a read, or for a subscription to be confirmed. */
  readMs: number;
  /** Silence after which a subscription is compared with the end of the log. */
  idleMs: number;
  /** Between attempts: doubled each time up to the second figure, of which a random half is taken off. */
  backoffMs: readonly [number, number];
}

export const TIMINGS: Timings = {
  appendMs: 10_000,
  settleMs: 30_000,
  readMs: 10_000,
  idleMs: 5_000,
  backoffMs: [50, 5_000],
};

/** Counters since the start of the process, for metrics. */
export interface EventStoreDbStats {
  /** Subscriptions that were cut, or went silent, and are confirmed again from their checkpoint. */
  reconnects: number;
  /** Of these, the ones that looked connected while the log went on without them. */
  silentSubscriptions: number;
  /** Clients thrown away because they no longer answered, or could not find the cluster. */
  clientsReplaced: number;
  /** Appends without a clear answer. */
  doubtfulAppends: number;
  /** Of these, the ones that became clear by reading the stream back or by sending them again. */
  settledAppends: number;
  /** Of these, the ones that stayed unclear and were reported as such. */
  unknownOutcomes: number;
}

/** Who is cut off at present. `healthy` is what readiness shows. */
export class Health {
  readonly stats: EventStoreDbStats = {
    reconnects: 0,
    silentSubscriptions: 0,
    clientsReplaced: 0,
    doubtfulAppends: 0,
    settledAppends: 0,
    unknownOutcomes: 0,
  };
  readonly #down = new Set<object>();

  get healthy(): boolean {
    return this.#down.size === 0;
  }

  down(who: object): void {
    this.#down.add(who);
  }

  up(who: object): void {
    this.#down.delete(who);
  }
}

/** Pause before attempt `n` (from 0). The random part keeps many servers from coming back in step. */
export function backoff([first, most]: readonly [number, number], n: number): number {
  return Math.min(most, first * 2 ** Math.min(n, 20)) * (0.5 + Math.random() / 2);
}
