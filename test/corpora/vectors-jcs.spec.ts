import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import { canonicalJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { hasCorpora } from '../support/corpora.js';
import { proved } from '../support/proved.js';
import { readVector, vectorFiles } from '../support/vectors.js';

const DATA = 'jcs/testdata';

/** The doubles of the vectors' README, in its order; the fixed ones are read from the text itself. */
function* doubles(): Generator<number> {
  const readme = readVector(DATA, 'README.md').toString('utf8');
  const fixed: string[] = readme.match(/0x[0-9a-f]{16}n/g) ?? [];
  // The table comes first; what follows it in the text is the start of the serial ones.
  const table = fixed.slice(0, fixed.lastIndexOf('0x0010000000000000n'));
  for (const hex of table) yield doubleOf(BigInt(hex.slice(0, -1)));
  for (let i = 0n; i < 2000n; i++) yield doubleOf(0x0010000000000000n + i);
  for (let block: Buffer = Buffer.alloc(32); ;) {
    block = createHash('sha256').update(block).digest();
    for (let at = 0; at < block.length; at += 8) {
      const value = block.readDoubleLE(at);
      if (value !== 0 && Number.isFinite(value)) yield value;
    }
  }
}

const view = new DataView(new ArrayBuffer(8));

function doubleOf(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

function bitsOf(value: number): string {
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16);
}

const isBeyondSafe = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value);

(hasCorpora ? describe : describe.skip)('canonical JSON of RFC 8785 (P5)', () => {
  it('gives the bytes of every vector', () => {
    const counts = { vectors: 0, refused_numbers: 0 };
    for (const file of vectorFiles(`${DATA}/input`)) {
      const value: unknown = JSON.parse(readVector(DATA, 'input', file).toString('utf8'));
      const output = readVector(DATA, 'output', file).toString('utf8');
      const hex = readVector(DATA, 'outhex', file.replace('.json', '.txt')).toString('utf8');
      expect(Buffer.from(output).toString('hex')).toBe(hex.replaceAll(/\s/g, ''));
      expect([file, canonicalize(value)]).toEqual([file, output]);
      if (file === 'values.json') {
        // It has 1E30. What we keep has no integer that a double does not count (B32): refused by its place.
        expect(() => canonicalJson(value)).toThrow(Refusal);
        expect(() => canonicalJson(value)).toThrow('numbers[1]');
        counts.refused_numbers += 1;
        const kept = { ...(value as object), numbers: [333333333.3333333, 4.5, 2e-3, 1e-27] };
        expect(canonicalJson(kept)).toBe(output.replace('1e+30,', ''));
      } else expect([file, canonicalJson(value)]).toEqual([file, output]);
      counts.vectors += 1;
    }
    expect(counts.vectors).toBe(6);
    proved('vectors of jcs', counts);
  });

  it('spells 100000 doubles as the vectors do', () => {
    const LINES = 100_000;
    const digest = createHash('sha256');
    const counts = { numbers: 0, refused: 0 };
    for (const value of doubles()) {
      if (counts.numbers === LINES) break;
      counts.numbers += 1;
      if (isBeyondSafe(value)) {
        if (thrown(() => canonicalJson(value)) instanceof Refusal) counts.refused += 1;
        digest.update(`${bitsOf(value)},${canonicalize(value)}\n`);
      } else digest.update(`${bitsOf(value)},${canonicalJson(value)}\n`);
    }
    const readme = readVector(DATA, 'README.md').toString('utf8');
    const wanted = /([0-9a-f]{64}) \| 100000 /.exec(readme)?.[1];
    expect(digest.digest('hex')).toBe(wanted);
    expect(counts.refused).toBeGreaterThan(40_000);
    proved('doubles of jcs', counts);
  });
});

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}
