import { describe, expect, it } from '@jest/globals';
import { proved } from '../../test/support/proved.js';
import { TiledTree, type FetchResource } from './log-reader.js';
import { CompactRange, leafHash, type Hash } from './merkle.js';
import { ProofError } from './proof-error.js';
import { TILE_WIDTH, encodeEntries, encodeTile, parseTilePath } from './tile.js';

const recordAt = (index: number): string => `record ${index}`;

/** Hashes of full tiles, level by level, over the first `size` records; `lie` may replace a record. */
function levelsOf(size: number, lie: (index: number) => string = recordAt): Hash[][] {
  const levels: Hash[][] = [Array.from({ length: size }, (_, i) => leafHash(lie(i)))];
  for (let below = levels[0] ?? []; below.length >= TILE_WIDTH; below = levels.at(-1) ?? []) {
    const above: Hash[] = [];
    for (let i = 0; i + TILE_WIDTH <= below.length; i += TILE_WIDTH)
      above.push(rootOver(below.slice(i, i + TILE_WIDTH)));
    levels.push(above);
  }
  return levels;
}

function rootOver(leaves: readonly Hash[]): Hash {
  const range = CompactRange.from(0, []);
  for (const leaf of leaves) range.append(leaf);
  return range.root();
}

/** Serves only the tiles that a log of this size has. `fetched` collects what was asked for. */
function serve(levels: readonly Hash[][], fetched: string[] = []): FetchResource {
  const size = levels[0]?.length ?? 0;
  return (path) => {
    fetched.push(path);
    const tile = parseTilePath(path);
    if (!tile) return Promise.resolve(undefined);
    const start = tile.index * TILE_WIDTH;
    const has = tile.level === 'entries' ? size : (levels[tile.level]?.length ?? 0);
    if (start + tile.width > has) return Promise.resolve(undefined);
    if (tile.level !== 'entries')
      return Promise.resolve(
        encodeTile(levels[tile.level]?.slice(start, start + tile.width) ?? []),
      );
    return Promise.resolve(
      encodeEntries(Array.from({ length: tile.width }, (_, i) => recordAt(start + i))),
    );
  };
}

const checkpointOf = (levels: readonly Hash[][], size: number) => ({
  origin: 'log.example/a',
  size,
  root: rootOver(levels[0]?.slice(0, size) ?? []),
});

const BIG = 70_000;
const big = levelsOf(BIG);

describe('a tiled log (P4, P9)', () => {
  it.each([0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, BIG])(
    'is read at %d entries',
    async (size) => {
      const checkpoint = checkpointOf(big, size);
      const tree = await TiledTree.open(serve(big), checkpoint);
      for (const index of [0, 1, 255, 256, 300, size - 1].filter((i) => i >= 0 && i < size)) {
        await tree.inclusion(index);
        expect(Buffer.from(await tree.entry(index)).toString()).toBe(recordAt(index));
      }
      for (const oldSize of [1, 2, 255, 256, 257, 65_536, size].filter((n) => n > 0 && n <= size))
        await tree.consistency(checkpointOf(big, oldSize));
      await expect(tree.entry(size)).rejects.toThrow(ProofError);
    },
  );

  it('is read from the first entry to the last', async () => {
    const tree = await TiledTree.open(serve(big), checkpointOf(big, BIG));
    let next = 0;
    for await (const { index, record } of tree.entries()) {
      if (index !== next || Buffer.from(record).toString() !== recordAt(index))
        throw new Error(`entry ${index} is wrong`);
      next += 1;
    }
    expect(next).toBe(BIG);
  });

  it('fetches a handful of tiles for a proof', async () => {
    const fetched: string[] = [];
    const tree = await TiledTree.open(serve(big, fetched), checkpointOf(big, BIG));
    await tree.inclusion(12_345);
    await tree.consistency(checkpointOf(big, 54_321));
    expect(fetched.length).toBeLessThan(10);
    proved('tiles for two proofs in a log of 70000', { tiles: fetched.length });
  });

  it('takes the full tile where the partial one was dropped', async () => {
    const all = serve(levelsOf(512));
    const dropped: FetchResource = (path) =>
      path.includes('.p/') && !path.startsWith('tile/1/') ? Promise.resolve(undefined) : all(path);
    const tree = await TiledTree.open(dropped, checkpointOf(big, 300));
    await tree.inclusion(299);
    expect(Buffer.from(await tree.entry(299)).toString()).toBe(recordAt(299));
  });

  it('refuses a full tile of another history, at every level, before anything of it is used', async () => {
    const other = levelsOf(BIG, (i) => (i === 500 ? 'another record' : recordAt(i)));
    const [honest, lying] = [serve(big), serve(other)];
    for (const path of ['tile/0/001', 'tile/1/000']) {
      const mixed: FetchResource = (asked) => (asked === path ? lying(asked) : honest(asked));
      const tree = await TiledTree.open(mixed, checkpointOf(big, BIG));
      await expect(tree.inclusion(500)).rejects.toThrow(path);
      await expect(tree.inclusion(501)).rejects.toThrow(path);
    }
    await expect(TiledTree.open(lying, checkpointOf(big, BIG))).rejects.toThrow('was signed');
  });

  it('names the first entry that is not the one in the tree', async () => {
    const other = levelsOf(BIG, (i) => (i === 500 ? 'another record' : recordAt(i)));
    const tree = await TiledTree.open(serve(other), checkpointOf(other, BIG));
    await expect(tree.entry(501)).rejects.toThrow('entry 500 is not the one in the tree');
  });

  it('finds a fork: no proof leads from a tree of another history', async () => {
    const other = levelsOf(1000, (i) => (i === 500 ? 'another record' : recordAt(i)));
    const tree = await TiledTree.open(serve(big), checkpointOf(big, BIG));
    await expect(tree.consistency(checkpointOf(other, 1000))).rejects.toThrow(ProofError);
    await expect(tree.consistency(checkpointOf(other, 501))).rejects.toThrow(ProofError);
    await tree.consistency(checkpointOf(other, 500));
  });
});
