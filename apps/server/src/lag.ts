import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '#event-store/event-store.js';
import type { Projector } from '#projections/projector.js';
import type { Reactor } from '#projections/reaction.js';

/** Where a follower of the log stands. */
export interface Lag {
  name: string;
  position: Position;
  /** Positions to the end of the log; some are empty on a cluster. */
  lag: number;
  /** How long it has been behind; 0 for one that is not. */
  lag_seconds: number;
  /** It stopped before an event that it cannot digest. */
  parked?: { position: Position; reason: string };
}

const SAMPLE_MS = 1_000;
/** A probe is answered although the store is not. */
const PATIENCE_MS = 1_000;
/** Enough for an hour in which a follower does not move. */
const SAMPLES = 3_600;

/** How far every follower is behind, in positions and in time. Keeps when the log first reached a position, for those not passed by all. */
export class LagWatch {
  readonly #samples: { at: number; end: Position }[] = [];
  readonly #timer: NodeJS.Timeout;
  #end: Position = 0;
  #asking = false;

  constructor(
    private readonly end: () => Promise<Position>,
    private readonly projector: Projector,
    private readonly reactor: Reactor,
  ) {
    this.#timer = setInterval(() => void this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  /** Of the read models one by one, then of the reactions together. */
  async read(): Promise<Lag[]> {
    await this.#sample();
    const { position } = this.reactor;
    return [...this.projector.statuses, { name: 'reactions', position }].map((status) =>
      this.#lagOf(status),
    );
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #lagOf(status: { name: string; position: Position; parked?: Lag['parked'] }): Lag {
    const { name, position, parked } = status;
    const lag = Math.max(0, this.#end - position);
    const since = lag === 0 ? undefined : this.#samples.find(({ end }) => end > position)?.at;
    const seconds = since === undefined ? 0 : Math.round(performance.now() - since) / 1_000;
    return { name, position, lag, lag_seconds: seconds, ...(parked ? { parked } : {}) };
  }

  /** Where the store cannot be asked, or not soon, the last known end stands: readiness says that the store is cut off. */
  async #sample(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const asked = this.end()
      .then((end) => (this.#end = Math.max(this.#end, end)))
      .catch(() => undefined)
      .finally(() => (this.#asking = false));
    await Promise.race([asked, delay(PATIENCE_MS, undefined, { ref: false })]);
    if (this.#end > (this.#samples.at(-1)?.end ?? 0))
      this.#samples.push({ at: performance.now(), end: this.#end });
    const passed = Math.min(
      this.reactor.position,
      ...this.projector.statuses.map(({ position }) => position),
    );
    const first = this.#samples.findIndex(({ end }) => end > passed);
    this.#samples.splice(0, first === -1 ? this.#samples.length : first);
    // The oldest says how long; of the newest, what is asked next replaces one.
    if (this.#samples.length > SAMPLES) this.#samples.splice(-2, 1);
  }
}
