import type { Position } from '#event-store/event-store.js';
import { LedgerDamage, type Finding } from '#event-store/ledger-check.js';
import type { Hash } from '#transparency/merkle.js';

/** A statement about a log that was kept outside of it, whose signature was proved already. `from` names the file. */
export type Pin = PinnedLeaf | PinnedRoot;

export interface PinnedLeaf {
  kind: 'leaf';
  from: string;
  index: number;
  /** Lower-case hex. */
  hash: string;
  /** Told where the log was found to have it. */
  onFound?: (position: Position) => void;
}

export interface PinnedRoot {
  kind: 'root';
  from: string;
  size: number;
  /** Base64. */
  root: string;
}

/** What is kept elsewhere of one log. */
export class PinnedLog {
  /** By index and by size: of one place several may speak, and not say the same. */
  readonly #leaves = new Map<number, PinnedLeaf[]>();
  readonly #roots = new Map<number, PinnedRoot[]>();
  #met = 0;

  constructor(pins: readonly Pin[]) {
    for (const pin of pins)
      if (pin.kind === 'leaf')
        this.#leaves.set(pin.index, [...(this.#leaves.get(pin.index) ?? []), pin]);
      else this.#roots.set(pin.size, [...(this.#roots.get(pin.size) ?? []), pin]);
  }

  /** Statements that the log was found to agree with. */
  get met(): number {
    return this.#met;
  }

  /** Throws `LedgerDamage`: what `earlier` knows to be wrong, or else this event. */
  leaf(index: number, position: Position, leaf: Hash, earlier: () => Finding | undefined): void {
    const pins = this.#leaves.get(index);
    if (!pins) return;
    const found = Buffer.from(leaf).toString('hex');
    const pin = pins.find(({ hash }) => hash !== found);
    if (!pin) {
      this.#met += pins.length;
      for (const { onFound } of pins) onFound?.(position);
      return;
    }
    const here = {
      at: `position ${position}`,
      what: `leaf hash of the event, as ${pin.from} proves it`,
      expected: pin.hash,
      found,
      first: position,
      last: position,
    };
    throw new LedgerDamage(earlier() ?? here);
  }

  /** The difference to a checkpoint of this size; undefined where there is none. */
  root(
    size: number,
    root: () => Hash,
  ): { what: string; expected: string; found: string } | undefined {
    const pins = this.#roots.get(size);
    if (!pins) return undefined;
    const found = Buffer.from(root()).toString('base64');
    const pin = pins.find((p) => p.root !== found);
    if (pin) return { what: `root, as ${pin.from} has it`, expected: pin.root, found };
    this.#met += pins.length;
    return undefined;
  }

  /** A statement about events that the log does not have. */
  beyond(size: number, workspace: string): Finding | undefined {
    const root = [...this.#roots.values()].flat().find((pin) => pin.size > size);
    const leaf = [...this.#leaves.values()].flat().find((pin) => pin.index >= size);
    const pin = root ?? leaf;
    if (!pin) return undefined;
    const count = pin.kind === 'root' ? pin.size : pin.index + 1;
    return {
      at: `the end of the log of ${workspace}`,
      what: `events, as ${pin.from} proves them`,
      expected: `${count} or more`,
      found: String(size),
    };
  }
}
