import { createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { canonicalJson, parseJson, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { fromBase64, shown, toBase64 } from './base64.js';
import type { SignedCheckpoint } from './checkpoint.js';
import { HASH_BYTES, type Hash } from './merkle.js';
import { ed25519Vkey, parseVkey, SIGNATURE_TYPE, type Verifier } from './note.js';
import { ProofError } from './proof-error.js';
import { parseTlogProof, verifyTlogProof } from './tlog-proof.js';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** An identifier; there is no such page. */
export const PREDICATE_TYPE = 'https://precedent.dev/receipt/v1';

export type ReceiptKind = 'answer' | 'approval' | 'conflict_resolution' | 'erasure';

/** What a receipt says beyond which event it is for. Texts of people are in it as hashes only. Times are RFC 3339. */
export interface ReceiptDetails {
  kind: ReceiptKind;
  /** SHA-256 (hex) of the canonical JSON of what was asked, and of what was answered (`answerDigest`). */
  question_sha256?: string;
  answer_sha256?: string;
  state?: string;
  topic?: string;
  scope?: Record<string, string>;
  /** `revision`: of the topic at which it was approved. */
  decision?: { id: string; content_hash: string; revision?: number };
  conflict?: { id: string; claims: string[] };
  valid_from?: string;
  valid_until?: string;
  as_of?: string;
  known_at?: string;
  ontology_version?: number;
  ontology_sha256?: string;
  evidence?: { source_id: string; sha256: string }[];
  approvers?: string[];
  reason_sha256?: string;
  execution_id?: string;
  /** `key`: the one that was destroyed. `touched`: counts of what it had sealed. */
  erasure?: {
    id: string;
    key: string;
    reason: string;
    reference?: string;
    touched: Record<string, number>;
    source_ids: string[];
  };
}

export interface ReceiptPredicate extends ReceiptDetails {
  /** First line of the log's checkpoints; the log's keys have it as their name. */
  origin: string;
  /** Pseudonym of the workspace. */
  workspace: string;
  /** Zero-based index of the event in its log: this is what is proved. */
  index: number;
  event_id: string;
  event_type: string;
  recorded_at: string;
  /** Of the engine that holds the ledger; other engines give others. */
  position?: string;
}

/** An in-toto Statement v1 about one event of a log. */
export interface ReceiptStatement {
  _type: typeof STATEMENT_TYPE;
  /** One subject, `<origin>#<index>`, with the leaf hash of the event in hex. */
  subject: [{ name: string; digest: { sha256: string } }];
  predicateType: typeof PREDICATE_TYPE;
  predicate: ReceiptPredicate;
}

/** A DSSE envelope. */
export interface Envelope {
  payloadType: typeof PAYLOAD_TYPE;
  /** Base64 of the statement's canonical JSON. */
  payload: string;
  /** `keyid` is `<origin>+<key id>`, the beginning of the verifier key; `sig` is base64. */
  signatures: { keyid: string; sig: string }[];
}

/** All that a stranger needs but the log's public key. */
export interface Receipt extends Envelope {
  /** C2SP tlog-proof of the event that the statement names. */
  tlog_proof: string;
}

export interface VerifiedReceipt {
  statement: ReceiptStatement;
  checkpoint: SignedCheckpoint;
  /** `<origin>+<key id>` of the key that signed the statement. */
  keyid: string;
}

export function receiptStatement(predicate: ReceiptPredicate, leaf: Hash): ReceiptStatement {
  return {
    _type: STATEMENT_TYPE,
    subject: [
      { name: subjectOf(predicate), digest: { sha256: Buffer.from(leaf).toString('hex') } },
    ],
    predicateType: PREDICATE_TYPE,
    predicate,
  };
}

/** Signs with the key of the log that the statement names. Same statement and key, same bytes. */
export function signReceipt(statement: ReceiptStatement, privateKey: KeyObject): Envelope {
  const payload = Buffer.from(canonicalJson(statement));
  const vkey = ed25519Vkey(statement.predicate.origin, createPublicKey(privateKey));
  return {
    payloadType: PAYLOAD_TYPE,
    payload: toBase64(payload),
    signatures: [
      {
        keyid: keyIdOf(parseVkey(vkey)),
        sig: toBase64(sign(null, preAuthentication(payload), privateKey)),
      },
    ],
  };
}

/**
 * Proves, offline, that a key of the log signed the statement and that the log holds the event which the statement names.
 * `keys` are verifier keys of the log, former ones included, and of witnesses. Throws `ProofError`.
 */
export function verifyReceipt(receipt: unknown, keys: readonly Verifier[]): VerifiedReceipt {
  const { payload, signatures, tlog_proof } = readReceipt(receipt);
  const bytes = fromBase64(payload, 'the payload of the receipt');
  const signer = signerOf(bytes, signatures, keys);
  const { statement, leaf } = readStatement(bytes);
  const { predicate } = statement;
  if (predicate.origin !== signer.name)
    throw new ProofError('the receipt is of another log than the key that signed it', {
      expected: signer.name,
      found: shown(predicate.origin),
    });
  const proof = parseTlogProof(tlog_proof);
  if (proof.index !== predicate.index)
    throw new ProofError('the proof is of another event than the receipt names', {
      expected: `index ${predicate.index}`,
      found: `index ${proof.index}`,
    });
  const ofLog = keys.filter(({ name, type }) => isWitness(type) || name === predicate.origin);
  const checkpoint = verifyTlogProof(proof, leaf, ofLog, predicate.origin);
  return { statement, checkpoint, keyid: keyIdOf(signer) };
}

/**
 * SHA-256 (hex) of the canonical JSON of an answer, which is what `answer_sha256` says. The receipt inside it, and the
 * `schema` that a command line prints before it, are no part of the answer.
 */
export function answerDigest(answer: object): string {
  const { receipt: _receipt, schema: _schema, ...rest } = answer as Record<string, unknown>;
  return sha256(canonicalJson(rest));
}

/** What DSSE signs: the type and the bytes, each behind its length. */
export function preAuthentication(payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

function isWitness(type: number): boolean {
  return type === SIGNATURE_TYPE.cosignature;
}

function keyIdOf({ name, keyId }: Verifier): string {
  return `${name}+${keyId}`;
}

function subjectOf({ origin, index }: ReceiptPredicate): string {
  return `${origin}#${index}`;
}

function signerOf(
  payload: Uint8Array,
  signatures: Envelope['signatures'],
  keys: readonly Verifier[],
): Verifier {
  const message = preAuthentication(payload);
  const known = keys.filter(({ type }) => type === SIGNATURE_TYPE.ed25519);
  for (const { keyid, sig } of signatures) {
    const key = known.find((candidate) => keyIdOf(candidate) === keyid);
    if (!key) continue;
    if (verify(null, message, key.publicKey, fromBase64(sig, 'the signature of the receipt')))
      return key;
    throw new ProofError(`the signature of ${keyid} is not over this receipt`);
  }
  throw new ProofError('no known key signed this receipt', {
    expected: known.map(keyIdOf).join(', ') || 'a key',
    found: signatures.map(({ keyid }) => shown(keyid)).join(', '),
  });
}

function readReceipt(value: unknown): Receipt {
  const { payloadType, payload, signatures, tlog_proof } = objectOf(value);
  if (payloadType !== PAYLOAD_TYPE) throw noReceipt('payloadType', PAYLOAD_TYPE);
  if (typeof payload !== 'string') throw noReceipt('payload', 'base64');
  if (typeof tlog_proof !== 'string') throw noReceipt('tlog_proof', 'a proof');
  if (!Array.isArray(signatures) || !signatures.every(isSignature))
    throw noReceipt('signatures', 'a list of keyid and sig');
  return { payloadType, payload, signatures, tlog_proof };
}

function isSignature(value: unknown): value is { keyid: string; sig: string } {
  const { keyid, sig } = objectOf(value);
  return typeof keyid === 'string' && typeof sig === 'string';
}

/** The statement and the leaf hash that it names. Members that are not known here are left in it. */
function readStatement(payload: Buffer): { statement: ReceiptStatement; leaf: Hash } {
  const value = jsonOf(payload);
  const { _type, subject, predicateType, predicate } = objectOf(value);
  if (_type !== STATEMENT_TYPE) throw noReceipt('_type', STATEMENT_TYPE);
  if (predicateType !== PREDICATE_TYPE) throw noReceipt('predicateType', PREDICATE_TYPE);
  const { origin, index } = objectOf(predicate);
  if (typeof origin !== 'string' || !Number.isSafeInteger(index))
    throw noReceipt('predicate', 'origin and index');
  const [first, ...more] = Array.isArray(subject) ? (subject as unknown[]) : [];
  const { name, digest } = objectOf(first);
  const { sha256: hex } = objectOf(digest);
  const wanted = subjectOf(predicate as ReceiptPredicate);
  if (name !== wanted || more.length > 0) throw noReceipt('subject', wanted);
  const leaf = Buffer.from(typeof hex === 'string' ? hex : '', 'hex');
  if (leaf.length !== HASH_BYTES || leaf.toString('hex') !== hex)
    throw noReceipt('subject[0].digest.sha256', 'a SHA-256 in lower-case hex');
  return { statement: value as ReceiptStatement, leaf };
}

function jsonOf(payload: Buffer): unknown {
  try {
    return parseJson(payload.toString('utf8'));
  } catch (error) {
    if (error instanceof Refusal) throw noReceipt('payload', 'JSON');
    throw error;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function noReceipt(path: string, expected: string): ProofError {
  return new ProofError(`this is no receipt: ${path} is wrong`, { expected });
}
