import { Recent } from '#kernel/recent.js';
import { openCheckpoint, type Checkpoint, type SignedCheckpoint } from './checkpoint.js';
import {
  CompactRange,
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  sameHash,
  verifyConsistency,
  verifyInclusion,
  type Hash,
  type HashReader,
} from './merkle.js';
import { toBase64 } from './base64.js';
import type { Verifier } from './note.js';
import { ProofError } from './proof-error.js';
import { TILE_HEIGHT, TILE_WIDTH, decodeEntries, decodeTile, tilePath, tileWidth } from './tile.js';

/** Gets a resource below the log's prefix (`checkpoint`, `tile/0/000.p/5`); undefined where the log does not have it. */
export type FetchResource = (path: string) => Promise<Uint8Array | undefined>;

/** The newest checkpoint of a log, checked as `openCheckpoint` does. Throws `ProofError`. */
export async function fetchCheckpoint(
  fetch: FetchResource,
  verifiers: readonly Verifier[],
  origin?: string,
): Promise<SignedCheckpoint> {
  const bytes = await fetch('checkpoint');
  if (!bytes) throw new ProofError('the log has no checkpoint');
  return openCheckpoint(Buffer.from(bytes).toString('utf8'), verifiers, origin);
}

const TILES_KEPT = 64;

/**
 * The tree of one checkpoint, read from a tiled log (C2SP tlog-tiles). No byte of a tile is used before it is proved to
 * be under the checkpoint's root: the tiles at the right edge give the root, every full tile gives a hash of the tile
 * above. What does not fit, or is not there, is a `ProofError`.
 */
export class TiledTree {
  readonly #fetch: FetchResource;
  readonly #full = new Recent<Promise<readonly Hash[]>>(TILES_KEPT);
  /** By level: the last tile, where it is partial. */
  readonly #edge: (readonly Hash[])[] = [];

  private constructor(
    fetch: FetchResource,
    readonly checkpoint: Checkpoint,
  ) {
    this.#fetch = fetch;
  }

  static async open(fetch: FetchResource, checkpoint: Checkpoint): Promise<TiledTree> {
    const tree = new TiledTree(fetch, checkpoint);
    await tree.#readEdge();
    return tree;
  }

  /** Entry bundles from the first one on, each checked against its leaf hashes. */
  async *entries(): AsyncGenerator<{ index: number; record: Uint8Array }> {
    for (let index = 0; index < this.checkpoint.size; index += TILE_WIDTH) {
      const records = await this.#bundle(index / TILE_WIDTH);
      for (const [i, record] of records.entries()) yield { index: index + i, record };
    }
  }

  /** The record at an index, checked. */
  async entry(index: number): Promise<Uint8Array> {
    const records = await this.#bundle(Math.floor(index / TILE_WIDTH));
    const record = records[index % TILE_WIDTH];
    if (!record) throw new ProofError(`the log has no entry ${index}`);
    return record;
  }

  /** Leaf hash and proof, which hold against the checkpoint. */
  async inclusion(index: number): Promise<{ leaf: Hash; proof: Hash[] }> {
    const { size, root } = this.checkpoint;
    const proof = await this.#prove((read) => inclusionProof(index, size, read));
    const leaf = await this.#node(0, index);
    verifyInclusion({ index, size, leaf, proof, root });
    return { leaf, proof };
  }

  /** That this tree continues the older one. Throws `ProofError` where it does not: the log is forked. */
  async consistency(older: Pick<Checkpoint, 'size' | 'root'>): Promise<Hash[]> {
    const { size, root } = this.checkpoint;
    const proof = await this.#prove((read) => consistencyProof(older.size, size, read));
    const claim = { oldSize: older.size, oldRoot: older.root, newSize: size, newRoot: root, proof };
    verifyConsistency(claim);
    return proof;
  }

  /** Reads the right edge, whose hashes make up the root. */
  async #readEdge(): Promise<void> {
    const { size, root } = this.checkpoint;
    for (let level = 0, nodes = size; nodes > 0; level++, nodes = Math.floor(nodes / TILE_WIDTH)) {
      const width = nodes % TILE_WIDTH;
      const index = Math.floor(nodes / TILE_WIDTH);
      this.#edge[level] = width === 0 ? [] : await this.#hashes(level, index, width);
    }
    const found = rootOf(size, (level, index) => this.#edgeNode(level, index));
    if (sameHash(found, root)) return;
    throw new ProofError(`the tiles are not of the tree of ${size} leaves that was signed`, {
      expected: toBase64(root),
      found: toBase64(found),
    });
  }

  /** A node that the root is computed from: it lies in the edge tiles. */
  #edgeNode(level: number, index: number): Hash {
    const tiles = this.#edge[Math.floor(level / TILE_HEIGHT)] ?? [];
    return nodeIn(tiles, level % TILE_HEIGHT, index);
  }

  /** Runs `prove` twice: to learn which hashes it takes, then with them. */
  async #prove(prove: (read: HashReader) => Hash[]): Promise<Hash[]> {
    const wanted: [level: number, index: number][] = [];
    prove((level, index) => {
      wanted.push([level, index]);
      return NO_HASH;
    });
    const hashes: Hash[] = [];
    for (const [level, index] of wanted) hashes.push(await this.#node(level, index));
    let next = 0;
    return prove(() => hashes[next++] as Hash);
  }

  async #node(level: number, index: number): Promise<Hash> {
    const tileLevel = Math.floor(level / TILE_HEIGHT);
    const height = level % TILE_HEIGHT;
    const inTile = TILE_WIDTH / 2 ** height;
    return nodeIn(await this.#tile(tileLevel, Math.floor(index / inTile)), height, index);
  }

  /** The hashes of a tile, proved to be under the root. */
  async #tile(level: number, index: number): Promise<readonly Hash[]> {
    const width = tileWidth(level, index, this.checkpoint.size);
    if (width === 0) throw new ProofError(`the log has no ${tilePath(level, index)}`);
    if (width < TILE_WIDTH) return this.#edge[level] ?? [];
    const path = tilePath(level, index);
    const kept = this.#full.get(path);
    if (kept) return kept;
    const tile = this.#fullTile(level, index);
    this.#full.set(path, tile);
    return tile;
  }

  async #fullTile(level: number, index: number): Promise<readonly Hash[]> {
    const hashes = await this.#hashes(level, index, TILE_WIDTH);
    const above = await this.#tile(level + 1, Math.floor(index / TILE_WIDTH));
    const expected = above[index % TILE_WIDTH];
    const found = nodeIn(hashes, TILE_HEIGHT, 0);
    if (expected && sameHash(expected, found)) return hashes;
    throw new ProofError(`${tilePath(level, index)} is not of the tree that was signed`, {
      expected: expected ? toBase64(expected) : 'no such tile',
      found: toBase64(found),
    });
  }

  async #hashes(level: number, index: number, width: number): Promise<Hash[]> {
    const { bytes, whole } = await this.#resource(level, index, width);
    return decodeTile(bytes, whole ? TILE_WIDTH : width).slice(0, width);
  }

  async #bundle(index: number): Promise<Uint8Array[]> {
    const width = tileWidth('entries', index, this.checkpoint.size);
    if (width === 0) throw new ProofError(`the log has no ${tilePath('entries', index)}`);
    const leaves = await this.#tile(0, index);
    const { bytes, whole } = await this.#resource('entries', index, width);
    const records = decodeEntries(bytes);
    if (whole && width < TILE_WIDTH) records.length = Math.min(records.length, width);
    if (records.length > width)
      throw new ProofError(`${tilePath('entries', index, width)} has more entries than its width`);
    const wrong = leaves.findIndex((leaf, i) => {
      const record = records[i];
      return record === undefined || !sameHash(leaf, leafHash(record));
    });
    if (wrong === -1) return records;
    throw new ProofError(`entry ${index * TILE_WIDTH + wrong} is not the one in the tree`, {
      expected: toBase64(leaves[wrong] as Hash),
      found: records[wrong] ? toBase64(leafHash(records[wrong])) : 'no entry',
    });
  }

  /** A log may drop a partial tile once the full one is there. */
  async #resource(
    level: number | 'entries',
    index: number,
    width: number,
  ): Promise<{ bytes: Uint8Array; whole: boolean }> {
    const path = tilePath(level, index, width);
    const bytes = await this.#fetch(path);
    if (bytes) return { bytes, whole: width === TILE_WIDTH };
    const full = width === TILE_WIDTH ? undefined : await this.#fetch(tilePath(level, index));
    if (full) return { bytes: full, whole: true };
    throw new ProofError(`the log does not have ${path}`);
  }
}

const NO_HASH: Hash = new Uint8Array(32);

/** The node `height` levels above a tile's hashes; `index` counts nodes of that height in the whole tree. */
function nodeIn(hashes: readonly Hash[], height: number, index: number): Hash {
  const width = 2 ** height;
  const start = (index % (TILE_WIDTH / width)) * width;
  const range = CompactRange.from(0, []);
  for (const hash of hashes.slice(start, start + width)) range.append(hash);
  if (range.size !== width) throw new ProofError('a tile is too narrow for the tree');
  return range.root();
}
