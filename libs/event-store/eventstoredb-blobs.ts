import { randomUUID } from 'node:crypto';
import { sha256 } from '#kernel/json.js';
import { appendRaw } from './eventstoredb-appending.js';
import type { Connection } from './eventstoredb-connection.js';
import { bytesOf, readOut } from './eventstoredb-reading.js';

/** Of one event, and so of one append, which the cluster limits to 1 MiB. */
const CHUNK_BYTES = 900_000;
/** Blobs that are written at once. */
const AT_ONCE = 8;
const PART = 'blob-part';
export const END = 'blob-end';

interface Held {
  bytes: Buffer;
  events: number;
  complete: boolean;
}

/** Large text as streams `<prefix><hash>` of chunks. The last chunk has a type of its own: without it the blob is not there. */
export class Blobs {
  constructor(
    private readonly connection: Connection,
    private readonly prefix: string,
  ) {}

  async put(blobs: readonly { hash: string; bytes: Uint8Array }[]): Promise<void> {
    for (const { hash, bytes } of blobs)
      if (sha256(bytes) !== hash)
        throw new Error(`blob ${hash} has other bytes than its name says`);
    const waiting = [...blobs];
    const write = async (): Promise<void> => {
      for (let blob = waiting.shift(); blob; blob = waiting.shift())
        await this.#write(this.prefix + blob.hash, blob.bytes);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, blobs.length) }, write));
  }

  /**
   * Begins as if nothing were there, which is the common case. Otherwise goes on where another writer, or this one before a
   * crash, has stopped: all write the same bytes.
   */
  async #write(stream: string, bytes: Uint8Array): Promise<void> {
    let held: Held = { bytes: Buffer.alloc(0), events: 0, complete: false };
    while (!held.complete) {
      const from = held.bytes.length;
      const chunk = bytes.slice(from, from + CHUNK_BYTES);
      const last = from + chunk.length === bytes.length;
      const event = { id: randomUUID(), type: last ? END : PART, metadata: NONE, data: chunk };
      const outcome = await appendRaw(this.connection, stream, held.events - 1, [event]);
      if (outcome.kind === 'stored')
        held = {
          bytes: Buffer.from(bytes.buffer, bytes.byteOffset, from + chunk.length),
          events: held.events + 1,
          complete: last,
        };
      else {
        held = await this.#read(stream);
        if (Buffer.compare(held.bytes, bytes.subarray(0, held.bytes.length)) !== 0)
          throw new Error(`${stream} holds other bytes than its name says`);
      }
    }
  }

  async get(hash: string): Promise<Uint8Array | undefined> {
    const { bytes, complete } = await this.#read(this.prefix + hash);
    if (!complete) return undefined;
    if (sha256(bytes) !== hash) throw new Error(`blob ${hash} has other bytes than its name says`);
    return new Uint8Array(bytes);
  }

  async #read(stream: string): Promise<Held> {
    const chunks: Uint8Array[] = [];
    let type = '';
    for await (const events of readOut(this.connection, stream, 0))
      for (const event of events) {
        chunks.push(bytesOf(event));
        type = event.type;
      }
    return { bytes: Buffer.concat(chunks), events: chunks.length, complete: type === END };
  }
}

const NONE = new Uint8Array(0);
