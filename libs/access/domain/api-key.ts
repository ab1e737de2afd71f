import { sha256 } from '#kernel/json.js';

/**
 * `prec_<short>_<long>`: `short` (8 characters) names the key in the open, `long` (32 to 128) is the secret. The fixed prefix lets
 * secret scanners find a leaked key. In keys made here the last 6 characters of `long` are a checksum of all before them
 * (`checksum` below), so that a scanner can tell a key from what only looks like one; a key that was chosen elsewhere has none.
 */
const FORM = /^prec_([A-Za-z0-9]{8})_([A-Za-z0-9]{32,128})$/;

export const API_KEY_FORM = 'prec_<8 letters or digits>_<32 to 128 letters or digits>';

export interface ApiKey {
  short: string;
  long: string;
}

export function parseApiKey(text: string): ApiKey | undefined {
  const [, short, long] = FORM.exec(text) ?? [];
  return short === undefined || long === undefined ? undefined : { short, long };
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SECRET = 40;
const CHECKSUM = 6;

/** Letters from bytes; bytes that would favour some letters are passed over. */
function letters(bytes: Iterable<number>, count: number): string {
  const found = [...bytes].filter((b) => b < 248).map((b) => ALPHABET[b % 62] ?? 'A');
  if (found.length < count) throw new Error('too few random bytes');
  return found.slice(0, count).join('');
}

/** A key from at least 64 bytes of randomness, under the given `short` or a random one. */
export function apiKeyFrom(random: Uint8Array, short?: string): string {
  const drawn = letters(random, 8 + SECRET);
  const body = `prec_${short ?? drawn.slice(0, 8)}_${drawn.slice(8)}`;
  return body + checksum(body);
}

/** The `short` that a request always gets: public, so it need not be random, only its own. */
export function shortOf(...parts: readonly string[]): string {
  return letters(Buffer.from(sha256(JSON.stringify(parts)), 'hex'), 8);
}

/** The first 6 bytes of the SHA-256 of the text, each modulo 62 as one of A–Z, a–z, 0–9. */
export function checksum(body: string): string {
  const bytes = Buffer.from(sha256(body), 'hex').subarray(0, CHECKSUM);
  return [...bytes].map((b) => ALPHABET[b % 62] ?? 'A').join('');
}

/** A secret of this server that is no part of the ledger. `id` names it in the open. */
export interface Pepper {
  id: string;
  text: string;
}

export function pepperOf(text: string): Pepper {
  return { id: sha256(`precedent pepper id:${text}`).slice(0, 8), text };
}

/** What is stored of a secret: `sha256:<hex>`, or `sha256-pepper-<id>:<hex>` where a pepper was hashed before it. */
export function secretHash(long: string, pepper: Pepper | undefined): string {
  return pepper
    ? `sha256-pepper-${pepper.id}:${sha256(`${pepper.text}:${long}`)}`
    : `sha256:${sha256(long)}`;
}

/** What `stored` would be for this secret; undefined where it was made with another pepper than this server's. */
export function hashLike(
  stored: string,
  long: string,
  pepper: Pepper | undefined,
): string | undefined {
  if (stored.startsWith('sha256:')) return secretHash(long, undefined);
  return pepper && stored.startsWith(`sha256-pepper-${pepper.id}:`)
    ? secretHash(long, pepper)
    : undefined;
}
