import { ProofError } from './proof-error.js';

/** Standard Base64 (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}

/** Reads the one spelling that `toBase64` writes. Throws `ProofError` that names `what` for any other text. */
export function fromBase64(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text) return bytes;
  throw new ProofError(`${what} is no base64`, { expected: 'base64', found: shown(text) });
}

/** Decimal without leading zeroes. Throws `ProofError` that names `what` for anything else and beyond 2^53 − 1. */
export function fromDecimal(text: string, what: string): number {
  const number = Number(text);
  if (/^(?:0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new ProofError(`${what} is no whole number`, { expected: 'decimal', found: shown(text) });
}

const SHOWN = 100;

/** The beginning of a text from outside, for an error. */
export function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}
