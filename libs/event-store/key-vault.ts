import { randomBytes } from 'node:crypto';

/** The bytes of a key, `erased` where it was destroyed, undefined where this ledger never had it. */
export type Key = Uint8Array | 'erased' | undefined;

export const KEY_BYTES = 32;

/** Makes the bytes of a new key. Random, but where a test wants the same bytes again. */
export type MakeKey = (id: string) => Uint8Array;

export const randomKey: MakeKey = () => new Uint8Array(randomBytes(KEY_BYTES));

export interface KeyReader {
  /** Never waits for a disk that writes. */
  key(id: string): Key;
  close(): Promise<void>;
}

/**
 * The keys that seal personal text, by their ids, apart from the log. A key that was destroyed stays so: its id never gets another one.
 */
export interface KeyVault extends KeyReader {
  /** Makes those keys that are not there yet; resolves once they are durable. Nothing is sealed with a key before. */
  ensure(ids: readonly string[]): Promise<void>;
  /** Resolves once no file of the vault holds the key any more; also for a key that was never here. */
  destroy(id: string): Promise<void>;
  /** How many keys there are, and how many were destroyed. */
  count(): { keys: number; erased: number };
}

/** The vault of tests. */
export class MemoryKeys implements KeyVault {
  readonly #keys = new Map<string, Uint8Array | 'erased'>();

  constructor(private readonly make: MakeKey = randomKey) {}

  key(id: string): Key {
    return this.#keys.get(id);
  }

  ensure(ids: readonly string[]): Promise<void> {
    for (const id of ids) if (!this.#keys.has(id)) this.#keys.set(id, this.make(id));
    return Promise.resolve();
  }

  destroy(id: string): Promise<void> {
    this.#keys.set(id, 'erased');
    return Promise.resolve();
  }

  count(): { keys: number; erased: number } {
    const erased = [...this.#keys.values()].filter((key) => key === 'erased').length;
    return { keys: this.#keys.size - erased, erased };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
