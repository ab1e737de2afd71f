import { fromBase64, fromDecimal, shown, toBase64 } from './base64.js';
import { HASH_BYTES, type Hash } from './merkle.js';
import { SIGNATURE_TYPE, openNote, type OpenedNote, type Verifier } from './note.js';
import { ProofError } from './proof-error.js';

/** What the log is at one size (C2SP tlog-checkpoint). */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Hash;
  /** Further lines, opaque and best absent. */
  extensions?: string[];
}

/** The text that is signed. */
export function formatCheckpoint({ origin, size, root, extensions = [] }: Checkpoint): string {
  const lines = [origin, String(size), toBase64(root), ...extensions];
  if (lines.some((line) => line === '' || line.includes('\n')) || root.length !== HASH_BYTES)
    throw new Error('a checkpoint has non-empty lines and a root of 32 bytes');
  return `${lines.join('\n')}\n`;
}

/** Reads a note's text; the signature is not its business. Throws `ProofError` for what is no checkpoint. */
export function parseCheckpoint(text: string): Checkpoint {
  if (!text.endsWith('\n')) throw noCheckpoint(text);
  const [origin = '', size = '', root = '', ...extensions] = text.slice(0, -1).split('\n');
  if (origin === '' || root === '' || extensions.includes('')) throw noCheckpoint(text);
  const hash = fromBase64(root, 'the root of the checkpoint');
  if (hash.length !== HASH_BYTES) throw noCheckpoint(text);
  return {
    origin,
    size: fromDecimal(size, 'the size of the checkpoint'),
    root: hash,
    ...(extensions.length === 0 ? {} : { extensions }),
  };
}

export interface SignedCheckpoint extends Checkpoint, OpenedNote {
  /** As it was given, with all signatures. */
  note: string;
}

/**
 * A checkpoint that its log signed. Witnesses among `verifiers` are checked, but alone are not enough: an Ed25519 key
 * named like the origin must have signed. A log whose keys have other names is read with its `origin` given.
 * Throws `ProofError` otherwise.
 */
export function openCheckpoint(
  note: string,
  verifiers: readonly Verifier[],
  origin?: string,
): SignedCheckpoint {
  const opened = openNote(note, verifiers);
  const checkpoint = parseCheckpoint(opened.text);
  if (origin !== undefined && checkpoint.origin !== origin)
    throw new ProofError('the checkpoint is of another log', {
      expected: origin,
      found: shown(checkpoint.origin),
    });
  const byLog = opened.signatures.some(
    ({ verified, type, name }) =>
      verified &&
      type === SIGNATURE_TYPE.ed25519 &&
      (origin !== undefined || name === checkpoint.origin),
  );
  if (!byLog)
    throw new ProofError('no known key of the log signed this checkpoint', {
      expected: `a key named ${shown(checkpoint.origin)}`,
      found: opened.signatures.map(({ name, keyId }) => shown(`${name}+${keyId}`)).join(', '),
    });
  return { ...checkpoint, ...opened, note };
}

function noCheckpoint(text: string): ProofError {
  return new ProofError('this is no checkpoint', {
    expected: 'lines of origin, size and root',
    found: shown(text),
  });
}
