import { fromBase64, fromDecimal, shown, toBase64 } from './base64.js';
import { openCheckpoint, type SignedCheckpoint } from './checkpoint.js';
import { verifyInclusion, type Hash } from './merkle.js';
import type { Verifier } from './note.js';
import { ProofError } from './proof-error.js';

/** That a leaf is in a log, with all that is needed to check it offline but the keys (C2SP tlog-proof). */
export interface TlogProof {
  index: number;
  /** From the leaf's sibling up to a child of the root. */
  hashes: readonly Hash[];
  /** The checkpoint as the log signed it, byte for byte. */
  checkpoint: string;
  /** Bytes that nothing vouches for. */
  extra?: Uint8Array;
}

const HEADER = 'c2sp.org/tlog-proof@v1';
/** A tree of 2^53 leaves has no longer path. */
const HASHES_MAX = 63;

export function formatTlogProof({ index, hashes, checkpoint, extra }: TlogProof): string {
  const lines = [
    HEADER,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...hashes.map(toBase64),
  ];
  return `${lines.join('\n')}\n\n${checkpoint}`;
}

/** Reads the form and proves nothing. Throws `ProofError`. */
export function parseTlogProof(text: string): TlogProof {
  const end = text.indexOf('\n\n');
  const [header, ...lines] = end === -1 ? [] : text.slice(0, end).split('\n');
  if (header !== HEADER)
    throw new ProofError('this is no proof of a transparency log', {
      expected: HEADER,
      found: shown(text.split('\n', 1)[0] ?? ''),
    });
  const extra = lines[0]?.startsWith('extra ') ? lines.shift()?.slice('extra '.length) : undefined;
  const index = lines.shift() ?? '';
  if (!index.startsWith('index '))
    throw new ProofError('the proof has no index', { expected: 'index <n>', found: shown(index) });
  if (lines.length > HASHES_MAX)
    throw new ProofError(`a proof of more than ${HASHES_MAX} hashes is none`);
  return {
    index: fromDecimal(index.slice('index '.length), 'the index of the proof'),
    hashes: lines.map((line) => fromBase64(line, 'a hash of the proof')),
    checkpoint: text.slice(end + 2),
    ...(extra === undefined ? {} : { extra: fromBase64(extra, 'the extra line of the proof') }),
  };
}

/**
 * The checkpoint that proves `leaf` to be at the proof's index. `verifiers` and `origin` as in `openCheckpoint`.
 * How many witnesses are enough is for the caller to say. Throws `ProofError`.
 */
export function verifyTlogProof(
  proof: TlogProof,
  leaf: Hash,
  verifiers: readonly Verifier[],
  origin?: string,
): SignedCheckpoint {
  const checkpoint = openCheckpoint(proof.checkpoint, verifiers, origin);
  const { size, root } = checkpoint;
  verifyInclusion({ index: proof.index, size, leaf, proof: proof.hashes, root });
  return checkpoint;
}
