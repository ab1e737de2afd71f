import type { LedgerSource, StoredEvent } from '#event-store/ledger-check.js';

/**
 * The sizes that a log's checkpoints name, read ahead: a checkpoint stands in the log behind the tree that it signs, and perhaps behind
 * more. Only a hint of where to keep a root; the checkpoint itself is proved when the log gets to it.
 */
export class SignedSizes {
  #ahead: { size: number; event: StoredEvent }[] = [];
  readonly #claimed = new Map<number, StoredEvent>();
  #nextRevision = 0;
  #ended = false;
  #last = 0;

  constructor(
    private readonly source: Pick<LedgerSource, 'stream'>,
    private readonly stream: string,
  ) {}

  /** To be waited for before `take`, where it is not undefined. */
  ready(): Promise<void> | undefined {
    return this.#ended || this.#ahead.length > 0 ? undefined : this.#read();
  }

  /** True where the next checkpoint is of this size. */
  take(size: number): boolean {
    const next = this.#ahead[0];
    if (next?.size !== size) return false;
    this.#ahead.shift();
    this.#claimed.set(size, next.event);
    return true;
  }

  /** The event of the checkpoint of this size, which nobody has looked at yet. */
  claimed(size: number): StoredEvent | undefined {
    return this.#claimed.get(size);
  }

  /** The checkpoint of this size was met. */
  met(size: number): void {
    this.#claimed.delete(size);
  }

  async #read(): Promise<void> {
    while (!this.#ended && this.#ahead.length === 0) {
      // What cannot be read ahead is damage that the log itself will meet.
      const page = await this.source.stream(this.stream, this.#nextRevision).catch(() => []);
      const last = page.at(-1);
      if (!last) this.#ended = true;
      else this.#nextRevision = Math.max(this.#nextRevision, last.revision) + 1;
      for (const event of page) this.#note(event);
    }
  }

  #note(event: StoredEvent): void {
    try {
      const { size } = JSON.parse(event.payload) as { size?: unknown };
      if (typeof size !== 'number' || size <= this.#last) return;
      this.#last = size;
      this.#ahead.push({ size, event });
    } catch {
      // The same.
    }
  }
}
