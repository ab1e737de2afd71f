import { openNote, parseVkey, signNote, type Signer } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';

/** First line of what a former key signs. No checkpoint begins with it: those begin with the origin, which has a slash and no space. */
const TITLE = 'precedent log key rotation';

/** The note with which the key `former` of a log hands over to `vkey`. `signer` holds `former`. */
export function rotationNote(origin: string, former: string, vkey: string, signer: Signer): string {
  return signNote(`${TITLE}\n${origin}\n${former}\n${vkey}\n`, [signer]);
}

/** Throws `ProofError` unless `former` itself signed that `vkey` follows it in this log. */
export function verifyRotation(origin: string, former: string, vkey: string, note: string): void {
  const { text } = openNote(note, [parseVkey(former)]);
  const expected = `${TITLE}\n${origin}\n${former}\n${vkey}\n`;
  if (text !== expected)
    throw new ProofError('the rotation note names another log or other keys', {
      expected: vkey,
      found: text.split('\n')[3] ?? '',
    });
}
