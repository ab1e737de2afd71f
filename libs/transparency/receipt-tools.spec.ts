import { execFileSync, spawnSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { proved } from '../../test/support/proved.js';
import { SmallLog } from '../../test/support/small-log.js';
import { answerDigest, preAuthentication, type Receipt } from './receipt.js';

/** What a stranger runs: openssl for signatures, Python's standard library for the rest, none of our code. */
const SCRIPT = resolve('docs/verify-receipt.py');
// Every check starts four processes, also where the machine has other work.
jest.setTimeout(240_000);
const folder = mkdtempSync(join(tmpdir(), 'precedent-receipt-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const ANSWER = {
  state: 'resolved',
  value: 'Zahlungsziel 30 Tage “netto” € 😀\u2028',
  scope: { region: 'eu', äöü: 'x', '\ufb33': 1, '😂': 2 },
  position: 17,
  share: 0.25,
  open: null,
  list: [true, false, -3, ''],
};

function run(receipt: Receipt, vkeys: readonly string[], answer?: object) {
  const args = [
    SCRIPT,
    file('receipt.json', JSON.stringify(receipt)),
    file('keys', vkeys.join('\n')),
  ];
  if (answer) args.push(file('answer.json', JSON.stringify(answer)));
  const { status, stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

describe('receipts under tools that are not ours (P9)', () => {
  beforeAll(() => {
    for (const [tool, version] of [
      ['openssl', 'version'],
      ['python3', '--version'],
    ] as const)
      if (spawnSync(tool, [version]).status !== 0)
        throw new Error(
          `${tool} is needed to prove that receipts do not need our code: install it`,
        );
  });

  it('are proved by openssl and a script, also after a rotation of the key', () => {
    const log = SmallLog.of(300);
    const counts = { proved: 0 };
    const keys = [log.vkey()];
    for (const [index, size] of [
      [0, 1],
      [0, 300],
      [255, 256],
      [256, 257],
      [299, 300],
    ] as const) {
      const receipt = log.receipt(index, { size, answer_sha256: answerDigest(ANSWER) });
      expect(run(receipt, keys, { schema: 'precedent.ask/1', ...ANSWER, receipt })).toEqual({
        status: 0,
        said: `proved: answer of event ${index} in ${log.origin}, under a signed checkpoint of ${size} events\n`,
      });
      counts.proved += 1;
    }
    const old = log.receipt(7);
    log.rotate();
    keys.push(log.vkey());
    for (const receipt of [old, log.receipt(7), { ...old, tlog_proof: log.proof(7) }]) {
      expect(run(receipt, keys).status).toBe(0);
      counts.proved += 1;
    }
    proved('receipts under openssl and python', counts);
  });

  it('have a signature that openssl alone takes, and no other', () => {
    const log = SmallLog.of(300);
    const { payload, signatures } = log.receipt(7);
    const pem = createPublicKey(log.privateKey).export({ type: 'spki', format: 'pem' });
    const message = preAuthentication(Buffer.from(payload, 'base64'));
    const verify = (bytes: Buffer): string =>
      execFileSync(
        'openssl',
        [
          ...['pkeyutl', '-verify', '-pubin', '-inkey', file('log.pem', pem), '-rawin'],
          ...['-in', file('pae', bytes)],
          ...['-sigfile', file('sig', Buffer.from(signatures[0]?.sig ?? '', 'base64'))],
        ],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
      );
    expect(verify(message)).toContain('Signature Verified Successfully');
    message[message.length - 1] = (message.at(-1) as number) ^ 1;
    expect(() => verify(message)).toThrow();
  });

  it.each<[string, RegExp, (log: SmallLog, receipt: Receipt) => Receipt]>([
    [
      'a changed statement',
      /no key of the log signed the statement/,
      (_, receipt) => ({
        ...receipt,
        payload: Buffer.from(
          Buffer.from(receipt.payload, 'base64').toString().replace('resolved', 'conflict'),
        ).toString('base64'),
      }),
    ],
    [
      'the proof of another event',
      /not for the event/,
      (log, receipt) => ({ ...receipt, tlog_proof: log.proof(8) }),
    ],
    [
      'a changed hash',
      /does not hold the event/,
      (log, receipt) => {
        const lines = receipt.tlog_proof.split('\n');
        lines[2] = Buffer.from(log.leaves[0] ?? []).toString('base64');
        return { ...receipt, tlog_proof: lines.join('\n') };
      },
    ],
    [
      'a missing hash',
      /too short/,
      (_, receipt) => {
        const lines = receipt.tlog_proof.split('\n');
        lines.splice(4, 1);
        return { ...receipt, tlog_proof: lines.join('\n') };
      },
    ],
    [
      'a checkpoint of another size',
      /no key of the log signed the checkpoint/,
      (_, receipt) => ({
        ...receipt,
        tlog_proof: receipt.tlog_proof.replace('\n300\n', '\n301\n'),
      }),
    ],
    [
      'the signature of somebody else',
      /no key of the log signed the statement/,
      (log, receipt) => {
        const other = SmallLog.of(300);
        return { ...receipt, signatures: other.receipt(7).signatures, tlog_proof: log.proof(7) };
      },
    ],
  ])('refuse %s', (_what, reason, change) => {
    const log = SmallLog.of(300);
    const receipt = log.receipt(7, { state: 'resolved' });
    expect(run(receipt, [log.vkey()]).status).toBe(0);
    const { status, said } = run(change(log, receipt), [log.vkey()]);
    expect(said).toMatch(reason);
    expect(status).toBe(1);
  });

  it('refuse another answer', () => {
    const log = SmallLog.of(300);
    const receipt = log.receipt(7, { answer_sha256: answerDigest(ANSWER) });
    const { status, said } = run(receipt, [log.vkey()], { ...ANSWER, state: 'unknown' });
    expect([status, said]).toEqual([1, 'not proved: the receipt is for another answer\n']);
  });
});
