import { hash } from 'node:crypto';
import { toBase64 } from './base64.js';
import { ProofError } from './proof-error.js';

/** A SHA-256 hash of 32 bytes. Nobody changes the bytes of a hash. */
export type Hash = Uint8Array;

export const HASH_BYTES = 32;

/** Hash of the complete subtree over the leaves [index·2^level, (index+1)·2^level); level 0 is the leaf hash. */
export type HashReader = (level: number, index: number) => Hash;

/** By way of a text: a buffer that Node itself returns has memory of its own, which costs more than the hashing. */
function sha256(bytes: string | Uint8Array): Hash {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
}

/** RFC 6962, section 2.1: the hash of an empty tree is the hash of nothing. */
export const EMPTY_ROOT: Hash = sha256('');

/** Leaf hash of RFC 6962: SHA-256(0x00 || record). Text is taken as UTF-8. */
export function leafHash(record: string | Uint8Array): Hash {
  if (typeof record === 'string') return sha256(`\0${record}`);
  const bytes = Buffer.allocUnsafe(1 + record.length);
  bytes[0] = 0;
  bytes.set(record, 1);
  return sha256(bytes);
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** Node hash of RFC 6962: SHA-256(0x01 || left || right). */
export function nodeHash(left: Hash, right: Hash): Hash {
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return sha256(pair);
}

/** What is kept of a tree that only grows: the hashes of its largest complete subtrees, left to right. */
export class CompactRange {
  #size: number;
  readonly #hashes: Hash[];

  private constructor(size: number, hashes: readonly Hash[]) {
    this.#size = size;
    this.#hashes = [...hashes];
  }

  /** As `size` and `hashes` gave it. Throws `ProofError` where the number of hashes does not fit the size. */
  static from(size: number, hashes: readonly Hash[]): CompactRange {
    const wanted = onesOf(size);
    if (hashes.length !== wanted || hashes.some(({ length }) => length !== HASH_BYTES))
      throw new ProofError(`${hashes.length} hashes are no compact range of ${size} leaves`, {
        expected: `${wanted} hashes of ${HASH_BYTES} bytes`,
        found: `${hashes.length}`,
      });
    return new CompactRange(size, hashes);
  }

  get size(): number {
    return this.#size;
  }

  get hashes(): readonly Hash[] {
    return [...this.#hashes];
  }

  append(leaf: Hash): void {
    let node = leaf;
    for (let size = this.#size; size % 2 === 1; size = (size - 1) / 2)
      node = nodeHash(this.#hashes.pop() as Hash, node);
    this.#hashes.push(node);
    this.#size += 1;
  }

  root(): Hash {
    return (
      this.#hashes.reduceRight<Hash | undefined>(
        (right, left) => (right === undefined ? left : nodeHash(left, right)),
        undefined,
      ) ?? EMPTY_ROOT
    );
  }
}

/** Root of the tree of the first `size` leaves. */
export function rootOf(size: number, read: HashReader): Hash {
  return size === 0 ? EMPTY_ROOT : rangeHash(0, size, read);
}

/** The hashes from the leaf's sibling up to a child of the root (RFC 6962, section 2.1.1). 0 ≤ index < size. */
export function inclusionProof(index: number, size: number, read: HashReader): Hash[] {
  if (!isIndex(index) || index >= size)
    throw new ProofError(`a tree of ${size} leaves has no leaf ${index}`);
  const proof: Hash[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      proof.push(rangeHash(middle, end, read));
      end = middle;
    } else {
      proof.push(rangeHash(start, middle, read));
      start = middle;
    }
  }
  return proof.reverse();
}

/** That the first `oldSize` leaves of the tree of `newSize` are the old tree (RFC 6962, section 2.1.2). 0 < oldSize ≤ newSize. */
export function consistencyProof(oldSize: number, newSize: number, read: HashReader): Hash[] {
  if (!isIndex(oldSize) || oldSize === 0 || oldSize > newSize)
    throw new ProofError(`there is no consistency proof from ${oldSize} to ${newSize} leaves`);
  const proof: Hash[] = [];
  let [start, end] = [0, newSize];
  while (end > oldSize) {
    const middle = start + splitOf(end - start);
    if (oldSize <= middle) {
      proof.push(rangeHash(middle, end, read));
      end = middle;
    } else {
      proof.push(rangeHash(start, middle, read));
      start = middle;
    }
  }
  // The old root itself is left out where it is a node of the new tree: who checks has it.
  if (start > 0) proof.push(rangeHash(start, end, read));
  return proof.reverse();
}

export interface Inclusion {
  index: number;
  size: number;
  leaf: Hash;
  proof: readonly Hash[];
  root: Hash;
}

/** RFC 9162, section 2.1.3.2. Throws `ProofError` where the leaf is not proved to be at this index of this tree. */
export function verifyInclusion({ index, size, leaf, proof, root }: Inclusion): void {
  if (!isIndex(index) || !isIndex(size) || index >= size)
    throw new ProofError(`a tree of ${size} leaves has no leaf ${index}`);
  assertHashes([leaf, ...proof]);
  let [at, last, computed] = [index, size - 1, leaf];
  for (const sibling of proof) {
    if (last === 0) throw wrongLength('inclusion', proof);
    if (at % 2 === 1 || at === last) {
      computed = nodeHash(sibling, computed);
      // A node without a right neighbour rises unchanged to where it is a right child.
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else computed = nodeHash(computed, sibling);
    [at, last] = [half(at), half(last)];
  }
  if (last !== 0) throw wrongLength('inclusion', proof);
  assertSame(`leaf ${index} is not proved to be in the tree of ${size} leaves`, root, computed);
}

export interface Consistency {
  oldSize: number;
  newSize: number;
  oldRoot: Hash;
  newRoot: Hash;
  proof: readonly Hash[];
}

/**
 * RFC 9162, section 2.1.4.2. Throws `ProofError` where the new tree is not proved to begin with the old one. Refuses
 * `oldSize` 0: every tree begins with the empty one, so there is nothing that a proof could say.
 */
export function verifyConsistency(claim: Consistency): void {
  const { oldSize, newSize, oldRoot, newRoot, proof } = claim;
  if (!isIndex(oldSize) || !isIndex(newSize) || oldSize === 0 || oldSize > newSize)
    throw new ProofError(
      `nothing proves a tree of ${newSize} leaves to continue one of ${oldSize}`,
    );
  assertHashes(proof);
  if (oldSize === newSize) {
    if (proof.length > 0) throw wrongLength('consistency', proof);
    assertSame(`two trees of ${newSize} leaves differ`, oldRoot, newRoot);
    return;
  }
  const { older, newer } = rootsFrom(claim);
  assertSame(`the tree of ${oldSize} leaves is not the one that was signed`, oldRoot, older);
  assertSame(
    `the tree of ${newSize} leaves does not continue the one of ${oldSize}`,
    newRoot,
    newer,
  );
}

/** Both roots as the proof computes them. */
function rootsFrom({ oldSize, newSize, oldRoot, proof }: Consistency): {
  older: Hash;
  newer: Hash;
} {
  const path = isPowerOfTwo(oldSize) ? [oldRoot, ...proof] : [...proof];
  let [at, last] = [oldSize - 1, newSize - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  const first = path.shift();
  if (first === undefined) throw wrongLength('consistency', proof);
  let [older, newer] = [first, first];
  for (const node of path) {
    if (last === 0) throw wrongLength('consistency', proof);
    if (at % 2 === 1 || at === last) {
      older = nodeHash(node, older);
      newer = nodeHash(node, newer);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else newer = nodeHash(newer, node);
    [at, last] = [half(at), half(last)];
  }
  if (last !== 0) throw wrongLength('consistency', proof);
  return { older, newer };
}

/** Hash over the leaves [start, end), which is a node of the tree: `start` is a multiple of the next power of two. */
function rangeHash(start: number, end: number, read: HashReader): Hash {
  const size = end - start;
  if (isPowerOfTwo(size)) return read(Math.log2(size), start / size);
  const middle = start + splitOf(size);
  return nodeHash(rangeHash(start, middle, read), rangeHash(middle, end, read));
}

/** The largest power of two below n, for n ≥ 2. Exact for every size: doubles hold powers of two. */
function splitOf(n: number): number {
  let split = 1;
  while (split * 2 < n) split *= 2;
  return split;
}

function isPowerOfTwo(n: number): boolean {
  return splitOf(n * 2) === n;
}

function half(n: number): number {
  return Math.floor(n / 2);
}

function onesOf(size: number): number {
  let ones = 0;
  for (let rest = size; rest > 0; rest = half(rest)) ones += rest % 2;
  return ones;
}

function isIndex(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}

function assertHashes(hashes: readonly Hash[]): void {
  const wrong = hashes.find(({ length }) => length !== HASH_BYTES);
  if (wrong)
    throw new ProofError('a hash has another length than SHA-256 gives', {
      expected: `${HASH_BYTES} bytes`,
      found: `${wrong.length} bytes`,
    });
}

function wrongLength(kind: string, proof: readonly Hash[]): ProofError {
  return new ProofError(`${proof.length} hashes are no ${kind} proof between these sizes`);
}

export function sameHash(a: Hash, b: Hash): boolean {
  return Buffer.compare(a, b) === 0;
}

function assertSame(message: string, expected: Hash, found: Hash): void {
  if (sameHash(expected, found)) return;
  throw new ProofError(message, { expected: toBase64(expected), found: toBase64(found) });
}
