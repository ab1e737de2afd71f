import { describe, expect, it } from '@jest/globals';
import { verifyConsistency, verifyInclusion } from '#transparency/merkle.js';
import { ProofError } from '#transparency/proof-error.js';
import { hasCorpora } from '../support/corpora.js';
import { proved } from '../support/proved.js';
import { readVector, vectorFiles } from '../support/vectors.js';

/** A proof of either kind; only the fields of its own kind are there. */
interface Vector {
  leafIdx: number;
  treeSize: number;
  root: string;
  leafHash: string;
  size1: number;
  size2: number;
  root1: string;
  root2: string;
  proof: string[] | null;
  wantErr: boolean;
}

const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

/** Each file of a folder passes, or is refused, as it says itself. */
function runAll(folder: string, verify: (vector: Vector, proof: Buffer[]) => void) {
  const counts = { passed: 0, refused: 0 };
  for (const file of vectorFiles(folder)) {
    // Sizes beyond 2^53 stand in some: they are rounded, and refused for it.
    const vector = JSON.parse(readVector(folder, file).toString('utf8')) as Vector;
    const run = (): void => verify(vector, (vector.proof ?? []).map(bytes));
    if (vector.wantErr) expect([file, thrownBy(run)]).toEqual([file, ProofError]);
    else expect([file, thrownBy(run)]).toEqual([file, undefined]);
    counts[vector.wantErr ? 'refused' : 'passed'] += 1;
  }
  proved(`vectors of ${folder}`, counts);
  return counts;
}

function thrownBy(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return (error as Error).constructor;
  }
  return undefined;
}

(hasCorpora ? describe : describe.skip)('Merkle proofs of others (P4, P9)', () => {
  it('takes every good inclusion proof and refuses every bad one', () => {
    const counts = runAll('merkle/testdata/inclusion', (vector, proof) => {
      const { leafIdx, treeSize, root, leafHash } = vector;
      verifyInclusion({
        index: leafIdx,
        size: treeSize,
        leaf: bytes(leafHash),
        proof,
        root: bytes(root),
      });
    });
    expect(counts).toEqual({ passed: 6, refused: 92 });
  });

  it('takes every good consistency proof and refuses every bad one', () => {
    const counts = runAll('merkle/testdata/consistency', (vector, proof) => {
      const { size1, size2, root1, root2 } = vector;
      verifyConsistency({
        oldSize: size1,
        newSize: size2,
        oldRoot: bytes(root1),
        newRoot: bytes(root2),
        proof,
      });
    });
    expect(counts).toEqual({ passed: 6, refused: 92 });
  });
});
