import { randomUUID } from 'node:crypto';
import { Refusal } from '#kernel/refusal.js';
import { appendRaw } from './eventstoredb-appending.js';
import { errorType, type Connection } from './eventstoredb-connection.js';
import { bytesOf, persist, readPage } from './eventstoredb-reading.js';
import type { Key } from './key-vault.js';

const TYPE = 'key';
const NONE = new Uint8Array(0);

/**
 * The keys that all servers of a cluster share, each as the one event of a stream `<prefix><id>` apart from the log. Whoever is first
 * makes it. A destroyed one is a tombstone: the cluster never takes that stream again, and a scavenge removes its bytes from the disks.
 */
export class KeyStreams {
  constructor(
    private readonly connection: Connection,
    private readonly prefix: string,
  ) {}

  /** The key as it stands in the cluster now: these bytes, those of another server that was faster, or none any more. */
  async put(id: string, bytes: Uint8Array): Promise<Uint8Array | 'erased'> {
    const event = { id: randomUUID(), type: TYPE, metadata: NONE, data: bytes };
    try {
      const outcome = await appendRaw(this.connection, this.prefix + id, -1, [event]);
      if (outcome.kind === 'stored') return bytes;
    } catch (error) {
      // A tombstone refuses it for good; of anything else the cluster is not asked any further.
      if (error instanceof Refusal && error.error === 'storage_unreachable') throw error;
      const held = await this.get(id);
      if (held === undefined) throw error;
      return held;
    }
    const held = await this.get(id);
    if (held === undefined) throw new Error(`the stream of key ${id} has no key`);
    return held;
  }

  get(id: string): Promise<Key> {
    return persist(this.connection, async () => {
      try {
        const { events } = await readPage(this.connection, this.prefix + id, 0, 1);
        return events[0] && new Uint8Array(bytesOf(events[0]));
      } catch (error) {
        if (errorType(error) === 'stream-deleted') return 'erased';
        throw error;
      }
    });
  }

  /** Also of one that was never made, and again of one that is gone. */
  async tombstone(id: string): Promise<void> {
    await persist(this.connection, async () => {
      try {
        await this.connection.call(this.connection.timings.settleMs, (client) =>
          client.tombstoneStream(this.prefix + id, this.connection.leader),
        );
      } catch (error) {
        if (errorType(error) !== 'stream-deleted') throw error;
      }
    });
  }
}
