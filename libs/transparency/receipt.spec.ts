import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { canonicalJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { proved } from '../../test/support/proved.js';
import { SmallLog } from '../../test/support/small-log.js';
import { leafHash, type Hash } from './merkle.js';
import { SIGNATURE_TYPE, cosigner, ed25519Vkey, parseVkey } from './note.js';
import { ProofError } from './proof-error.js';
import {
  answerDigest,
  receiptStatement,
  signReceipt,
  verifyReceipt,
  type Receipt,
  type ReceiptPredicate,
  type ReceiptStatement,
} from './receipt.js';
import { formatTlogProof, parseTlogProof, verifyTlogProof } from './tlog-proof.js';

const records = Array.from({ length: 21 }, (_, i) => `{"record":${i}}`);
const newLog = (): SmallLog => new SmallLog().append(...records);
const keysOf = (...vkeys: readonly string[]) => vkeys.map(parseVkey);

describe('proofs of C2SP tlog-proof (P9)', () => {
  const log = newLog();

  it('prove each leaf, with and without extra data', () => {
    for (let index = 0; index < records.length; index++) {
      const text = log.proof(index);
      const proof = parseTlogProof(text);
      expect(formatTlogProof(proof)).toBe(text);
      const leaf = log.leaves[index] as Hash;
      expect(verifyTlogProof(proof, leaf, keysOf(log.vkey())).size).toBe(records.length);
      const extra = formatTlogProof({ ...proof, extra: Buffer.from('more') });
      expect(extra.split('\n')[1]).toBe('extra bW9yZQ==');
      expect(Buffer.from(parseTlogProof(extra).extra ?? []).toString()).toBe('more');
      verifyTlogProof(parseTlogProof(extra), leaf, keysOf(log.vkey()));
    }
  });

  it('is written as the format asks', () => {
    const [first, second, third, ...rest] = log.proof(3).split('\n');
    expect([first, second]).toEqual(['c2sp.org/tlog-proof@v1', 'index 3']);
    expect(third).toBe(Buffer.from(log.leaves[2] as Hash).toString('base64'));
    expect(rest.slice(rest.indexOf('') + 1, rest.indexOf('') + 3)).toEqual([log.origin, '21']);
  });

  it.each([
    ['another version', (text: string) => text.replace('@v1', '@v2')],
    ['no index', (text: string) => text.replace('index 3\n', '')],
    ['a leading zero', (text: string) => text.replace('index 3', 'index 03')],
    ['another index', (text: string) => text.replace('index 3', 'index 2')],
    ['no checkpoint', (text: string) => text.split('\n\n')[0] ?? ''],
    ['an empty line among its hashes', (text: string) => text.replace('index 3\n', 'index 3\n\n')],
    ['64 hashes', (text: string) => text.replace('index 3\n', `index 3\n${'AAAA\n'.repeat(64)}`)],
    ['a short hash', (text: string) => text.replace('index 3\n', 'index 3\nAAAA\n')],
  ])('refuses a proof with %s', (_what, change) => {
    const text = change(log.proof(3));
    const check = () =>
      verifyTlogProof(parseTlogProof(text), log.leaves[3] as Hash, keysOf(log.vkey()));
    expect(check).toThrow(ProofError);
  });
});

describe('receipts (P9)', () => {
  it('are verified with the public key alone, and say what they prove', () => {
    const log = newLog();
    const answer = { state: 'resolved', topic: 'Payment terms' };
    const receipt = log.receipt(7, { state: 'resolved', answer_sha256: answerDigest(answer) });
    const read = JSON.parse(JSON.stringify(receipt)) as unknown;
    const { statement, checkpoint, keyid } = verifyReceipt(read, keysOf(log.vkey()));
    expect(statement.subject[0].name).toBe(`${log.origin}#7`);
    expect(statement.predicate).toMatchObject({ index: 7, state: 'resolved' });
    expect(checkpoint.size).toBe(records.length);
    expect(log.vkey().startsWith(keyid)).toBe(true);
    expect(Buffer.from(receipt.payload, 'base64').toString()).toBe(canonicalJson(statement));
  });

  it('have the same bytes whenever they are signed', () => {
    const log = newLog();
    expect(log.receipt(7, { size: 10 })).toEqual(log.receipt(7, { size: 10 }));
    const { tlog_proof: _early, ...early } = log.receipt(7, { size: 10 });
    const { tlog_proof: _late, ...late } = log.receipt(7);
    expect(early).toEqual(late);
  });

  it('stay valid after the key was changed, and refuse a key that is not the log’s', () => {
    const log = newLog();
    const [before, oldKey] = [log.receipt(3), log.vkey()];
    log.rotate();
    const [after, newKey] = [log.receipt(3), log.vkey()];
    for (const receipt of [before, after]) verifyReceipt(receipt, keysOf(oldKey, newKey));
    expect(() => verifyReceipt(before, keysOf(newKey))).toThrow('no known key signed this receipt');
    // The statement of the old key under a checkpoint of the new one: both keys are needed.
    const mixed = { ...before, tlog_proof: after.tlog_proof };
    verifyReceipt(mixed, keysOf(oldKey, newKey));
    expect(() => verifyReceipt(mixed, keysOf(oldKey))).toThrow(ProofError);
  });

  it('count no witness as the log', () => {
    const log = newLog();
    const witness = generateKeyPairSync('ed25519').privateKey;
    const vkey = ed25519Vkey('w.example', createPublicKey(witness), SIGNATURE_TYPE.cosignature);
    const witnessed = log.checkpoint(21, cosigner('w.example', witness, 1_700_000_000));
    const receipt = { ...log.receipt(3), tlog_proof: log.proof(3, 21, witnessed) };
    const { checkpoint } = verifyReceipt(receipt, keysOf(log.vkey(), vkey));
    expect(checkpoint.signatures.map(({ name }) => name)).toEqual([log.origin, 'w.example']);
    const lines = witnessed.split('\n');
    lines.splice(4, 1);
    const alone = { ...receipt, tlog_proof: log.proof(3, 21, lines.join('\n')) };
    expect(() => verifyReceipt(alone, keysOf(log.vkey(), vkey))).toThrow('no known key of the log');
  });

  it('refuse every receipt in which one bit is another', () => {
    const log = newLog();
    const bytes = Buffer.from(JSON.stringify(log.receipt(7, { state: 'resolved' })));
    const keys = keysOf(log.vkey());
    const counts = { flipped: 0, refused: 0 };
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      counts.flipped += 1;
      if (isRefused(() => verifyReceipt(JSON.parse(changed.toString('utf8')), keys)))
        counts.refused += 1;
    }
    expect(counts.refused).toBe(counts.flipped);
    proved('bits of a receipt', counts);
  });

  it.each<[string, (log: SmallLog) => Receipt]>([
    ['another index than its proof', (log) => ({ ...log.receipt(7), tlog_proof: log.proof(8) })],
    [
      'a leaf that the log does not hold',
      (log) => {
        const statement = receiptStatement(log.predicate(7), leafHash('invented'));
        return { ...signReceipt(statement, log.privateKey), tlog_proof: log.proof(7) };
      },
    ],
    [
      'a subject of another index',
      (log) => {
        const honest = receiptStatement(log.predicate(7), log.leaves[7] as Hash);
        const statement = { ...honest, predicate: log.predicate(8) };
        return { ...signReceipt(statement, log.privateKey), tlog_proof: log.proof(8) };
      },
    ],
    [
      'two subjects',
      (log) => {
        const honest = receiptStatement(log.predicate(7), log.leaves[7] as Hash);
        const subject = [...honest.subject, ...honest.subject] as unknown;
        const statement = { ...honest, subject } as ReceiptStatement;
        return { ...signReceipt(statement, log.privateKey), tlog_proof: log.proof(7) };
      },
    ],
    [
      'another type of predicate',
      (log) => {
        const honest = receiptStatement(log.predicate(7), log.leaves[7] as Hash);
        const statement = { ...honest, predicateType: 'https://slsa.dev/provenance/v1' } as unknown;
        const envelope = signReceipt(statement as ReceiptStatement, log.privateKey);
        return { ...envelope, tlog_proof: log.proof(7) };
      },
    ],
    [
      'the origin of another log',
      (log) => {
        const predicate: ReceiptPredicate = { ...log.predicate(7), origin: 'precedent/other' };
        const statement = receiptStatement(predicate, log.leaves[7] as Hash);
        const honest = signReceipt({ ...statement, predicate: log.predicate(7) }, log.privateKey);
        const { payload, signatures } = signReceipt(statement, log.privateKey);
        const keyid = honest.signatures[0]?.keyid ?? '';
        const relabelled = signatures.map(({ sig }) => ({ keyid, sig }));
        return { ...honest, payload, signatures: relabelled, tlog_proof: log.proof(7) };
      },
    ],
    [
      'a checkpoint of another log under the same key',
      (log) => {
        const other = new SmallLog('precedent/other').append(...records);
        other.privateKey = log.privateKey;
        return { ...log.receipt(7), tlog_proof: other.proof(7) };
      },
    ],
    ['no signature', (log) => ({ ...log.receipt(7), signatures: [] })],
  ])('refuse %s', (_what, make) => {
    const log = newLog();
    verifyReceipt(log.receipt(7), keysOf(log.vkey()));
    expect(() => verifyReceipt(make(log), keysOf(log.vkey()))).toThrow(ProofError);
  });

  it.each([null, 3, 'receipt', [], {}, { payloadType: 'text/plain' }])('refuse %j', (value) => {
    expect(() => verifyReceipt(value, [])).toThrow(ProofError);
  });
});

/** Text that is no JSON any more is refused by the parser already. */
function isRefused(run: () => unknown): boolean {
  try {
    run();
    return false;
  } catch (error) {
    if ([ProofError, Refusal, SyntaxError].some((type) => error instanceof type)) return true;
    throw error;
  }
}
