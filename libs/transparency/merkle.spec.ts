import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { proved } from '../../test/support/proved.js';
import {
  CompactRange,
  EMPTY_ROOT,
  consistencyProof,
  inclusionProof,
  leafHash,
  nodeHash,
  rootOf,
  verifyConsistency,
  verifyInclusion,
  type Hash,
  type HashReader,
} from './merkle.js';
import { ProofError } from './proof-error.js';

/** RFC 6962, section 2.1, word for word: MTH, PATH and SUBPROOF over the records themselves. */
const sha = (...parts: Uint8Array[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest();
const split = (n: number): number => 2 ** (Math.ceil(Math.log2(n)) - 1);

function mth(d: readonly Buffer[]): Buffer {
  const [only] = d;
  if (only === undefined) return sha();
  if (d.length === 1) return sha(Buffer.of(0), only);
  const k = split(d.length);
  return sha(Buffer.of(1), mth(d.slice(0, k)), mth(d.slice(k)));
}

function path(m: number, d: readonly Buffer[]): Buffer[] {
  if (d.length === 1) return [];
  const k = split(d.length);
  return m < k
    ? [...path(m, d.slice(0, k)), mth(d.slice(k))]
    : [...path(m - k, d.slice(k)), mth(d.slice(0, k))];
}

function subproof(m: number, d: readonly Buffer[], whole: boolean): Buffer[] {
  if (m === d.length) return whole ? [] : [mth(d)];
  const k = split(d.length);
  return m <= k
    ? [...subproof(m, d.slice(0, k), whole), mth(d.slice(k))]
    : [...subproof(m - k, d.slice(k), false), mth(d.slice(0, k))];
}

const records = (n: number): Buffer[] => Array.from({ length: n }, (_, i) => Buffer.from(`r${i}`));

/** Levels of complete subtrees, bottom up. */
function readerOf(d: readonly Buffer[]): HashReader {
  const levels: Hash[][] = [d.map(leafHash)];
  for (let below = levels[0] ?? []; below.length > 1; below = levels.at(-1) ?? [])
    levels.push(
      Array.from({ length: Math.floor(below.length / 2) }, (_, i) =>
        nodeHash(below[2 * i] as Hash, below[2 * i + 1] as Hash),
      ),
    );
  return (level, index) => {
    const hash = levels[level]?.[index];
    if (!hash) throw new Error(`no complete subtree ${index} at level ${level}`);
    return hash;
  };
}

const hex = (hashes: readonly Uint8Array[]): string[] =>
  hashes.map((hash) => Buffer.from(hash).toString('hex'));

function flipped(hash: Hash, bit: number): Hash {
  const copy = Buffer.from(hash);
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
  return copy;
}

/** Each hash of a list changed in one bit, one at a time. */
const changedOnce = (hashes: readonly Hash[]): Hash[][] =>
  hashes.map((hash, at) =>
    hashes.map((same, i) => (i === at ? flipped(hash, (at * 37) % 256) : same)),
  );

/** `expect(…).toThrow` a hundred thousand times takes half a minute. */
function isRefused(run: () => void): boolean {
  try {
    run();
    return false;
  } catch (error) {
    if (error instanceof ProofError) return true;
    throw error;
  }
}

describe('Merkle tree of RFC 6962 (P4, P9)', () => {
  it('proves every leaf of every tree up to 64 as the RFC writes it, and refuses every changed hash', () => {
    let [proofs, refused] = [0, 0];
    const accepted: unknown[] = [];
    const refuses = (claim: Parameters<typeof verifyInclusion>[0]): void => {
      if (isRefused(() => verifyInclusion(claim))) refused += 1;
      else accepted.push(claim);
    };
    for (let size = 1; size <= 64; size++) {
      const d = records(size);
      const root = mth(d);
      expect(hex([rootOf(size, readerOf(d))])).toEqual(hex([root]));
      for (let index = 0; index < size; index++) {
        const proof = inclusionProof(index, size, readerOf(d));
        expect(hex(proof)).toEqual(hex(path(index, d)));
        const leaf = leafHash(d[index] as Buffer);
        const claim = { index, size, leaf, proof, root };
        verifyInclusion(claim);
        proofs += 1;
        for (const changed of changedOnce(proof)) refuses({ ...claim, proof: changed });
        refuses({ ...claim, leaf: flipped(leaf, index) });
        refuses({ ...claim, root: flipped(root, index) });
        refuses({ ...claim, proof: [...proof, root] });
        if (proof.length > 0) refuses({ ...claim, proof: proof.slice(1) });
        for (let other = 0; other < size; other++)
          if (other !== index) refuses({ ...claim, index: other });
      }
    }
    expect(accepted).toEqual([]);
    proved('inclusion proofs, all up to 64 leaves', { proofs, refused });
  });

  it('proves every tree up to 64 to continue every older one as the RFC writes it, and refuses every changed hash', () => {
    let [proofs, refused] = [0, 0];
    const accepted: unknown[] = [];
    const refuses = (claim: Parameters<typeof verifyConsistency>[0]): void => {
      if (isRefused(() => verifyConsistency(claim))) refused += 1;
      else accepted.push(claim);
    };
    for (let newSize = 1; newSize <= 64; newSize++) {
      const d = records(newSize);
      const [read, newRoot] = [readerOf(d), mth(d)];
      for (let oldSize = 1; oldSize <= newSize; oldSize++) {
        const proof = consistencyProof(oldSize, newSize, read);
        expect(hex(proof)).toEqual(hex(subproof(oldSize, d, true)));
        const claim = { oldSize, newSize, oldRoot: mth(d.slice(0, oldSize)), newRoot, proof };
        verifyConsistency(claim);
        proofs += 1;
        for (const changed of changedOnce(proof)) refuses({ ...claim, proof: changed });
        refuses({ ...claim, oldRoot: flipped(claim.oldRoot, newSize) });
        refuses({ ...claim, newRoot: flipped(newRoot, newSize) });
        refuses({ ...claim, proof: [...proof, newRoot] });
        if (proof.length > 0) refuses({ ...claim, proof: proof.slice(1) });
      }
    }
    expect(accepted).toEqual([]);
    proved('consistency proofs, all up to 64 leaves', { proofs, refused });
  });

  it('agrees with the RFC on bigger trees', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 65, max: 3000 })
          .chain((n) => fc.tuple(fc.constant(n), fc.nat(n - 1), fc.integer({ min: 1, max: n }))),
        ([size, index, oldSize]) => {
          const d = records(size);
          const read = readerOf(d);
          const inclusion = inclusionProof(index, size, read);
          expect(hex(inclusion)).toEqual(hex(path(index, d)));
          const root = mth(d);
          verifyInclusion({ index, size, leaf: leafHash(`r${index}`), proof: inclusion, root });
          const proof = consistencyProof(oldSize, size, read);
          expect(hex(proof)).toEqual(hex(subproof(oldSize, d, true)));
          const oldRoot = mth(d.slice(0, oldSize));
          verifyConsistency({ oldSize, newSize: size, oldRoot, newRoot: root, proof });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is exact for every size that a double can count', () => {
    // All leaves alike: every complete subtree of a level has one hash.
    const levels = [leafHash('same')];
    for (let level = 1; level <= 53; level++)
      levels.push(nodeHash(levels[level - 1] as Hash, levels[level - 1] as Hash));
    const read: HashReader = (level) => levels[level] as Hash;
    const size = fc.oneof(
      fc.maxSafeNat(),
      fc.integer({ min: 1, max: 53 }).map((n) => 2 ** n),
      fc.integer({ min: 1, max: 53 }).map((n) => 2 ** n - 1),
    );
    fc.assert(
      fc.property(size, size, (a, b) => {
        const newSize = Math.min(Math.max(a, b, 1), Number.MAX_SAFE_INTEGER);
        const oldSize = Math.min(Math.max(Math.min(a, b), 1), newSize);
        const root = rootOf(newSize, read);
        const proof = inclusionProof(oldSize - 1, newSize, read);
        verifyInclusion({ index: oldSize - 1, size: newSize, leaf: read(0, 0), proof, root });
        const oldRoot = rootOf(oldSize, read);
        const between = consistencyProof(oldSize, newSize, read);
        verifyConsistency({ oldSize, newSize, oldRoot, newRoot: root, proof: between });
      }),
      { numRuns: 500 },
    );
  });

  it('keeps what is needed of a growing tree', () => {
    const d = records(300);
    let range = CompactRange.from(0, []);
    expect(hex([range.root()])).toEqual(hex([EMPTY_ROOT]));
    for (let size = 1; size <= d.length; size++) {
      range.append(leafHash(d[size - 1] as Buffer));
      expect(hex([range.root()])).toEqual(hex([mth(d.slice(0, size))]));
      range = CompactRange.from(range.size, range.hashes);
    }
    expect(() => CompactRange.from(300, range.hashes.slice(1))).toThrow(ProofError);
    expect(() => CompactRange.from(299, range.hashes)).toThrow(ProofError);
  });

  it('takes text and bytes as the same record', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(text.isWellFormed());
        expect(hex([leafHash(text)])).toEqual(hex([sha(Buffer.of(0), Buffer.from(text))]));
        expect(hex([leafHash(new TextEncoder().encode(text))])).toEqual(hex([leafHash(text)]));
      }),
    );
  });

  it.each([
    [0, 0],
    [5, 5],
    [-1, 5],
    [1.5, 5],
    [0, Number.MAX_SAFE_INTEGER + 1],
  ])('refuses index %d of %d leaves', (index, size) => {
    const root = EMPTY_ROOT;
    expect(() => verifyInclusion({ index, size, leaf: root, proof: [], root })).toThrow(ProofError);
  });

  it('makes no proof of what is not there', () => {
    const read: HashReader = () => EMPTY_ROOT;
    expect(() => inclusionProof(5, 5, read)).toThrow(ProofError);
    expect(() => consistencyProof(0, 5, read)).toThrow(ProofError);
    expect(() => consistencyProof(6, 5, read)).toThrow(ProofError);
  });
});
