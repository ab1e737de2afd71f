import type { RecordedEvent } from './event-store.js';
import type { KeyStreams } from './eventstoredb-keys.js';
import { randomKey, type Key, type KeyVault, type MakeKey } from './key-vault.js';

/** Ids of the keys in a sealed text. */
const TOKENS = /"sealed:1:[^:"]*:((?:k_[0-9a-f]{24}\+?)+):/g;
/** Keys that were looked for at once. */
const AT_ONCE = 8;
/** Ids that the cluster does not know, remembered so that it is not asked for them with every event. */
const UNKNOWN = 10_000;

/**
 * Keys of a ledger that several servers share. The cluster says which bytes a key has; each server keeps what it has met in a file of
 * its own, so that reading never asks the cluster.
 */
export class SharedKeys implements KeyVault {
  private readonly local: KeyVault;
  private readonly met = new Map<string, Uint8Array>();
  private readonly unknown = new Set<string>();

  private constructor(
    private readonly streams: KeyStreams,
    private readonly make: MakeKey,
    open: (make: MakeKey) => KeyVault,
  ) {
    this.local = open((id) => {
      const bytes = this.met.get(id);
      if (!bytes) throw new Error(`key ${id} was not met`);
      return bytes;
    });
  }

  /** `open` opens this server's own file, which takes the bytes of a new key from the given function. */
  static open(
    streams: KeyStreams,
    open: (make: MakeKey) => KeyVault,
    make: MakeKey = randomKey,
  ): SharedKeys {
    return new SharedKeys(streams, make, open);
  }

  /** One that is not here is looked for, so that it is there the next time: the file may have been lost. */
  key(id: string): Key {
    const key = this.local.key(id);
    if (key === undefined && !this.unknown.has(id)) this.fetch([id]).catch(() => undefined);
    return key;
  }

  ensure(ids: readonly string[]): Promise<void> {
    return this.meet(this.missing(ids), (id) => this.streams.put(id, this.make(id)));
  }

  /** Fetches every key that the events need, before anybody sees them. */
  async learn(events: readonly RecordedEvent[]): Promise<void> {
    const ids = new Set<string>();
    for (const { payload } of events)
      if (payload.includes('"sealed:1:'))
        for (const [, keys = ''] of payload.matchAll(TOKENS))
          for (const id of keys.split('+')) ids.add(id);
    await this.fetch(this.missing([...ids]).filter((id) => !this.unknown.has(id)));
  }

  private fetch(ids: readonly string[]): Promise<void> {
    return this.meet(ids, async (id) => {
      const key = await this.streams.get(id);
      if (key === undefined) this.forget(id);
      return key;
    });
  }

  async destroy(id: string): Promise<void> {
    await this.streams.tombstone(id);
    await this.local.destroy(id);
  }

  count(): { keys: number; erased: number } {
    return this.local.count();
  }

  close(): Promise<void> {
    return this.local.close();
  }

  private missing(ids: readonly string[]): string[] {
    return [...new Set(ids)].filter((id) => this.local.key(id) === undefined);
  }

  private forget(id: string): void {
    if (this.unknown.size >= UNKNOWN) this.unknown.clear();
    this.unknown.add(id);
  }

  private async meet(ids: readonly string[], fetch: (id: string) => Promise<Key>): Promise<void> {
    if (ids.length === 0) return;
    const rest = ids.values();
    const there: string[] = [];
    const work = async (): Promise<void> => {
      for (const id of rest) {
        const key = await fetch(id);
        if (key === 'erased') await this.local.destroy(id);
        else if (key) {
          this.met.set(id, key);
          there.push(id);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, work));
    await this.local.ensure(there);
    for (const id of there) this.met.delete(id);
  }
}
