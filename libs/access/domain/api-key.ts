import { sha256 } from '#kernel/json.js';

/**
 * `prec_<short>_<long>`: `short` (8 characters) names the key in the open, `long` (at least 32) is the secret.
 * The fixed prefix lets secret scanners find a leaked key.
 */
const FORM = /^prec_([A-Za-z0-9]{8})_([A-Za-z0-9]{32,128})$/;

export interface ApiKey {
  short: string;
  secretSha256: string;
}

export const API_KEY_FORM = 'prec_<8 letters or digits>_<32 to 128 letters or digits>';

export function parseApiKey(text: string): ApiKey | undefined {
  const match = FORM.exec(text);
  const [, short, long] = match ?? [];
  return short === undefined || long === undefined
    ? undefined
    : { short, secretSha256: sha256(long) };
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A key from at least 64 bytes of randomness. Bytes that would favour some letters are passed over. */
export function apiKeyFrom(random: Uint8Array): string {
  const letters = [...random].filter((b) => b < 248).map((b) => ALPHABET[b % 62] ?? 'A');
  if (letters.length < 48) throw new Error('too few random bytes');
  return `prec_${letters.slice(0, 8).join('')}_${letters.slice(8, 48).join('')}`;
}
