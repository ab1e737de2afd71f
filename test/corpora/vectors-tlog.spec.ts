import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from '#transparency/checkpoint.js';
import { TiledTree, fetchCheckpoint } from '#transparency/log-reader.js';
import { verifyConsistency } from '#transparency/merkle.js';
import { parseVkey } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { parseTilePath } from '#transparency/tile.js';
import { hasCorpora } from '../support/corpora.js';
import { proved } from '../support/proved.js';
import { VECTORS, logIn, readVector, vectorFiles } from '../support/vectors.js';

/** A log of transparency-dev/tessera, and the public key that its build script signs with. */
const LOG = 'tlog/testdata/log';
const KEY = parseVkey(
  'example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx',
);
const SIZE = 15;

const checkpointAt = (size: number) =>
  openCheckpoint(readVector(LOG, `checkpoint.${size}`).toString('utf8'), [KEY]);
const sizes = Array.from({ length: SIZE }, (_, i) => i + 1);

async function readAll(fetch: ReturnType<typeof logIn>, size: number): Promise<string[]> {
  const tree = await TiledTree.open(fetch, checkpointAt(size));
  const records: string[] = [];
  for await (const { record } of tree.entries()) records.push(Buffer.from(record).toString());
  return records;
}

(hasCorpora ? describe : describe.skip)('a foreign tiled log (P4, P9)', () => {
  const fetch = logIn(join(VECTORS, LOG));

  it('reads its checkpoints, each under its signature, and refuses each with a changed byte', () => {
    const counts = { checkpoints: 0, bytes_changed: 0, refused: 0 };
    for (const size of [0, ...sizes]) {
      const { note, text, signatures } = checkpointAt(size);
      expect(signatures).toMatchObject([{ verified: true, type: 1 }]);
      expect(formatCheckpoint(parseCheckpoint(text))).toBe(text);
      counts.checkpoints += 1;
      const bytes = Buffer.from(note);
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] as number) ^ 1;
        counts.bytes_changed += 1;
        try {
          openCheckpoint(changed.toString('utf8'), [KEY]);
        } catch (error) {
          if (error instanceof ProofError) counts.refused += 1;
        }
      }
    }
    expect(counts.refused).toBe(counts.bytes_changed);
    proved('checkpoints of a foreign log', counts);
  });

  it('proves every checkpoint consistent with every later one, and every entry under each', async () => {
    const counts = { consistency_proofs: 0, inclusion_proofs: 0, entries: 0 };
    const all = await readAll(fetch, SIZE);
    for (const newSize of sizes) {
      const newer = checkpointAt(newSize);
      const tree = await TiledTree.open(fetch, newer);
      for (const oldSize of sizes.slice(0, newSize)) {
        const older = checkpointAt(oldSize);
        const proof = await tree.consistency(older);
        verifyConsistency({
          oldSize,
          newSize,
          oldRoot: older.root,
          newRoot: newer.root,
          proof,
        });
        counts.consistency_proofs += 1;
      }
      for (let index = 0; index < newSize; index++) {
        await tree.inclusion(index);
        counts.inclusion_proofs += 1;
      }
      const records = await readAll(fetch, newSize);
      expect(records).toEqual(all.slice(0, newSize));
      counts.entries += records.length;
    }
    expect(all.slice(0, 3)).toEqual(['one', 'two', 'three']);
    expect(new Set(all).size).toBe(SIZE);
    expect((await fetchCheckpoint(fetch, [KEY])).size).toBe(SIZE);
    proved('a foreign log read', counts);
  });

  it('refuses each byte of each tile when it is another', async () => {
    const counts = { files: 0, bytes_changed: 0, refused: 0 };
    const tiles = vectorFiles(LOG).filter((file) => file.startsWith('tile'));
    for (const file of tiles) {
      const { width = 0 } = parseTilePath(file) ?? {};
      const length = readVector(LOG, file).length;
      counts.files += 1;
      for (let at = 0; at < length; at++) {
        const lying = logIn(join(VECTORS, LOG), (path, bytes) => {
          if (path === file) bytes[at] = (bytes[at] as number) ^ 0x10;
          return bytes;
        });
        counts.bytes_changed += 1;
        try {
          await readAll(lying, width);
        } catch (error) {
          if (error instanceof ProofError) counts.refused += 1;
        }
      }
    }
    expect(counts.files).toBe(2 * SIZE);
    expect(counts.refused).toBe(counts.bytes_changed);
    proved('tiles of a foreign log', counts);
  });

  it('says which tile is missing or of another length', async () => {
    const without = (missing: string) =>
      logIn(join(VECTORS, LOG), (path, bytes) => (path === missing ? undefined : bytes));
    await expect(readAll(without('tile/0/000.p/15'), SIZE)).rejects.toThrow('tile/0/000.p/15');
    await expect(readAll(without('tile/entries/000.p/15'), SIZE)).rejects.toThrow(
      'entries/000.p/15',
    );
    const longer = logIn(join(VECTORS, LOG), (_, bytes) => Buffer.concat([bytes, Buffer.of(0, 0)]));
    await expect(readAll(longer, SIZE)).rejects.toThrow(ProofError);
  });
});
