import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';
import { fromBase64, shown, toBase64 } from './base64.js';
import { ProofError } from './proof-error.js';

/** Signature types of C2SP signed-note: Ed25519 over the text, and tlog-cosignature (a witness, with the time). */
export const SIGNATURE_TYPE = { ed25519: 1, cosignature: 4 } as const;
export type SignatureType = (typeof SIGNATURE_TYPE)[keyof typeof SIGNATURE_TYPE];

/** A public key that is trusted under a name. Name and key id together say whose a signature line is. */
export interface Verifier {
  readonly name: string;
  /** 8 digits of lower-case hex. */
  readonly keyId: string;
  readonly type: SignatureType;
  readonly publicKey: KeyObject;
  /** `<name>+<key id>+<base64 of type and key>`. */
  readonly vkey: string;
}

/** Makes the bytes of a signature line that follow the key id. */
export interface Signer {
  readonly name: string;
  readonly keyId: string;
  sign(text: string): Uint8Array;
}

export interface NoteSignature {
  name: string;
  keyId: string;
  /** By a key that was given. A line of an unknown key is listed and says nothing. */
  verified: boolean;
  type?: SignatureType;
  /** Seconds since 1970, of a verified cosignature. */
  timestamp?: number;
}

export interface OpenedNote {
  /** What was signed, with its last newline. */
  text: string;
  signatures: NoteSignature[];
}

const RAW_KEY = 32;
const KEY_ID = 4;
const TIMESTAMP = 8;
/** A note with more is refused unread. The format asks for room for 16 signatures. */
export const NOTE_LIMITS = { bytes: 1_000_000, signatures: 100 } as const;

/** C2SP signed-note, "Verifier keys". Throws `ProofError` for what is none, or is of a type that is not read here. */
export function parseVkey(vkey: string): Verifier {
  const [, name, keyId, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(vkey) ?? [];
  if (name === undefined || keyId === undefined || encoded === undefined || !isKeyName(name))
    throw new ProofError('this is no verifier key', {
      expected: '<name>+<key id in hex>+<base64>',
      found: shown(vkey),
    });
  const bytes = fromBase64(encoded, `the key of ${name}`);
  const type = typeOf(bytes[0]);
  if (type === undefined || bytes.length !== 1 + RAW_KEY)
    throw new ProofError(`the key of ${name} is of a kind that is not read here`, {
      expected: 'Ed25519 (type 1) or an Ed25519 cosignature key (type 4)',
      found: `type ${bytes[0]}, ${bytes.length - 1} bytes`,
    });
  const raw = bytes.subarray(1);
  const derived = keyIdOf(name, type, raw);
  if (derived !== keyId)
    throw new ProofError(`the key id of ${name} is not that of its key`, {
      expected: derived,
      found: keyId,
    });
  return { name, keyId, type, publicKey: publicKeyOf(raw), vkey };
}

/** Verifier keys one a line; empty lines and lines that begin with # are skipped. */
export function parseVkeys(text: string): Verifier[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseVkey);
}

/** The verifier key of an Ed25519 key, for notes or (`SIGNATURE_TYPE.cosignature`) for a witness. */
export function ed25519Vkey(
  name: string,
  publicKey: KeyObject,
  type: SignatureType = SIGNATURE_TYPE.ed25519,
): string {
  assertKeyName(name);
  const raw = rawKeyOf(publicKey);
  return `${name}+${keyIdOf(name, type, raw)}+${toBase64(Buffer.concat([Buffer.of(type), raw]))}`;
}

/** Signs the text itself (type 1). `privateKey` is Ed25519. */
export function noteSigner(name: string, privateKey: KeyObject): Signer {
  assertKeyName(name);
  const raw = rawKeyOf(createPublicKey(privateKey));
  return {
    name,
    keyId: keyIdOf(name, SIGNATURE_TYPE.ed25519, raw),
    sign: (text) => sign(null, Buffer.from(text), privateKey),
  };
}

/** Signs a checkpoint as a witness (C2SP tlog-cosignature, `cosignature/v1`) as of `seconds` since 1970. */
export function cosigner(name: string, privateKey: KeyObject, seconds: number): Signer {
  assertKeyName(name);
  const raw = rawKeyOf(createPublicKey(privateKey));
  return {
    name,
    keyId: keyIdOf(name, SIGNATURE_TYPE.cosignature, raw),
    sign: (text) => {
      const time = Buffer.alloc(TIMESTAMP);
      time.writeBigUInt64BE(BigInt(seconds));
      return Buffer.concat([time, sign(null, cosignedMessage(text, seconds), privateKey)]);
    },
  };
}

/** The whole note: the text, which ends with a newline, and one signature line of each signer. */
export function signNote(text: string, signers: readonly Signer[]): string {
  assertText(text);
  if (signers.length === 0) throw new Error('a note without a signature is none');
  return `${text}\n${signers.map((signer) => signatureLine(text, signer)).join('')}`;
}

/** One line with its newline; it may be added at the end of a note of that text. */
export function signatureLine(text: string, signer: Signer): string {
  const signature = Buffer.concat([Buffer.from(signer.keyId, 'hex'), signer.sign(text)]);
  return `— ${signer.name} ${toBase64(signature)}\n`;
}

/**
 * C2SP signed-note. Throws `ProofError` where the note is malformed, no key of `verifiers` signed it, or a signature that
 * claims one of these keys does not hold. Signatures of other keys are ignored. Several by one key are listed once.
 */
export function openNote(note: string, verifiers: readonly Verifier[]): OpenedNote {
  const { text, lines } = splitNote(note);
  const signatures = new Map<string, NoteSignature>();
  for (const line of lines) {
    const opened = openSignature(text, line, verifiers);
    signatures.set(`${opened.name} ${opened.keyId}`, opened);
  }
  const listed = [...signatures.values()];
  if (!listed.some(({ verified }) => verified))
    throw new ProofError('no known key signed this note', {
      expected: verifiers.map(({ name, keyId }) => `${name}+${keyId}`).join(', ') || 'a key',
      found: listed.map(({ name, keyId }) => shown(`${name}+${keyId}`)).join(', '),
    });
  return { text, signatures: listed };
}

/** Text and signature lines, nothing checked but the form. */
export function splitNote(note: string): { text: string; lines: string[] } {
  if (note.length > NOTE_LIMITS.bytes)
    throw new ProofError(`a note of more than ${NOTE_LIMITS.bytes} characters is not read`);
  const end = note.lastIndexOf('\n\n');
  if (end === -1 || !note.endsWith('\n')) throw malformed();
  const text = note.slice(0, end + 1);
  assertText(text);
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > NOTE_LIMITS.signatures)
    throw new ProofError(`a note with more than ${NOTE_LIMITS.signatures} signatures is not read`);
  return { text, lines };
}

const LINE = /^— (\S+) (\S+)$/u;

function openSignature(text: string, line: string, verifiers: readonly Verifier[]): NoteSignature {
  const [, name, encoded] = LINE.exec(line) ?? [];
  if (name === undefined || encoded === undefined || !isKeyName(name)) throw malformed(line);
  const bytes = fromBase64(encoded, `the signature of ${name}`);
  if (bytes.length <= KEY_ID) throw malformed(line);
  const keyId = bytes.toString('hex', 0, KEY_ID);
  const known = verifiers.find((key) => key.name === name && key.keyId === keyId);
  if (!known) return { name, keyId, verified: false };
  return { name, keyId, verified: true, ...checked(text, bytes.subarray(KEY_ID), known) };
}

function checked(
  text: string,
  signature: Buffer,
  { type, name, keyId, publicKey }: Verifier,
): { type: SignatureType; timestamp?: number } {
  const wrong = new ProofError(`the signature of ${name}+${keyId} is not over this text`);
  if (type === SIGNATURE_TYPE.ed25519) {
    if (!verify(null, Buffer.from(text), publicKey, signature)) throw wrong;
    return { type };
  }
  if (signature.length < TIMESTAMP) throw wrong;
  const timestamp = Number(signature.readBigUInt64BE());
  const message = cosignedMessage(text, timestamp);
  if (!Number.isSafeInteger(timestamp)) throw wrong;
  if (!verify(null, message, publicKey, signature.subarray(TIMESTAMP))) throw wrong;
  return { type, timestamp };
}

function cosignedMessage(text: string, seconds: number): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
}

function assertText(text: string): void {
  // The format forbids every ASCII control character but the newline.
  // eslint-disable-next-line no-control-regex
  if (!text.endsWith('\n') || !text.isWellFormed() || /[\0-\x09\x0b-\x1f]/.test(text))
    throw malformed();
}

function malformed(line?: string): ProofError {
  return new ProofError('this is no signed note', {
    expected: 'a text, an empty line and signature lines',
    ...(line === undefined ? {} : { found: shown(line) }),
  });
}

/** The format forbids Unicode spaces and the plus sign. */
export function isKeyName(name: string): boolean {
  return name !== '' && name.isWellFormed() && !/[\s\u0085+\p{Cc}]/u.test(name);
}

function assertKeyName(name: string): void {
  if (!isKeyName(name)) throw new Error('a key name is empty, or has a space or a plus sign');
}

function typeOf(byte: number | undefined): SignatureType | undefined {
  return Object.values(SIGNATURE_TYPE).find((type) => type === byte);
}

function keyIdOf(name: string, type: SignatureType, raw: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), raw]);
  return hash('sha256', bytes, 'hex').slice(0, 2 * KEY_ID);
}

function rawKeyOf(publicKey: KeyObject): Buffer {
  const { crv, x } = publicKey.export({ format: 'jwk' });
  if (crv !== 'Ed25519' || x === undefined) throw new Error('the key is not Ed25519');
  return Buffer.from(x, 'base64url');
}

function publicKeyOf(raw: Buffer): KeyObject {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') };
  return createPublicKey({ key: jwk, format: 'jwk' });
}
