import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { toBase64 } from '#transparency/base64.js';
import { consistencyProof } from '#transparency/merkle.js';
import { SIGNATURE_TYPE, cosigner, ed25519Vkey } from '#transparency/note.js';
import { answerDigest } from '#transparency/receipt.js';
import { Auditor } from '../support/auditor.js';
import { parsed, type Ran } from '../support/cli.js';
import { SmallLog } from '../support/small-log.js';

/** Milliseconds for a test that starts a dozen processes, also where the machine has other work. */
const LONG = 240_000;

/** The verbs on proofs where there is no ledger: files and logs of others. */
const auditor = new Auditor();
afterAll(() => auditor.leave());

const run = (...args: string[]): Promise<Ran> => auditor.run(...args);
const file = (name: string, content: string | object): string => auditor.file(name, content);

describe('precedent receipt verify (P9)', () => {
  const log = SmallLog.of(300);
  const keys = file('receipt-keys', `# of the log\n${log.vkey()}\n`);
  const answer = { state: 'resolved', value: 'Paid in 30 days' };
  const receipt = log.receipt(17, { state: 'resolved', answer_sha256: answerDigest(answer) });
  const verify = (path: string, ...more: string[]): Promise<Ran> =>
    run('receipt', 'verify', path, '--keys', keys, ...more);

  it('proves a receipt with its key alone, and says what it proves', async () => {
    const told = await verify(
      file('receipt.json', receipt),
      '--answer',
      file('answer.json', answer),
    );
    expect([told.code, told.stderr]).toEqual([0, '']);
    for (const part of [`entry 17 of ${log.origin}`, 'of 300 events', 'resolved', 'AnswerGiven'])
      expect(told.stdout).toContain(part);
    const json = await verify(file('receipt.json', receipt), '--json');
    expect(parsed(json)).toMatchObject({
      schema: 'precedent.receipt-verify/1',
      proved: true,
      kind: 'answer',
      origin: log.origin,
      index: 17,
      checkpoint: { size: 300 },
      answer: 'not_compared',
      claims: { state: 'resolved', event_type: 'AnswerGiven' },
    });
  });

  it('takes the receipt inside the answer that it is for, and compares the two', async () => {
    const whole = { schema: 'precedent.answer/1', ...answer, receipt };
    const json = await verify(file('whole.json', whole), '--json');
    expect([json.code, parsed(json)['answer']]).toEqual([0, 'matches']);
    const changed = await verify(file('changed.json', { ...whole, value: 'Paid in 60 days' }));
    expect([changed.code, changed.stdout]).toEqual([1, '']);
    expect(changed.stderr).toContain('the receipt is for another answer');
  });

  it.each<[string, () => Promise<Ran>, number, string]>([
    [
      'another answer',
      () => verify(file('receipt.json', receipt), '--answer', file('x.json', { state: 'unknown' })),
      1,
      'not_proved',
    ],
    [
      'a changed byte',
      () => verify(file('x.json', JSON.stringify(receipt).replace('index 17', 'index 18'))),
      1,
      'not_proved',
    ],
    ['no JSON', () => verify(file('x.json', '{"payloadType": ')), 1, 'not_proved'],
    [
      'the key of another log',
      () =>
        run(
          'receipt',
          'verify',
          file('receipt.json', receipt),
          '--keys',
          file('other', SmallLog.of(1).vkey()),
          '--json',
        ),
      1,
      'not_proved',
    ],
    [
      'too few witnesses',
      () => verify(file('receipt.json', receipt), '--witnesses', '1'),
      1,
      'not_proved',
    ],
    [
      'keys that are none',
      () => run('receipt', 'verify', file('receipt.json', receipt), '--keys', file('x', 'no key')),
      2,
      'invalid_keys',
    ],
    ['no keys', () => run('receipt', 'verify', file('receipt.json', receipt)), 2, 'usage'],
    ['no file', () => verify(auditor.at('absent')), 3, 'unreadable_file'],
  ])('ends on %s with its code and a word for it', async (_what, attempt, code, error) => {
    const ran = await attempt();
    expect([ran.code, `${ran.stdout}${ran.stderr}`]).toEqual([
      code,
      expect.stringContaining(error),
    ]);
  });

  it('counts witnesses that are known', async () => {
    const witness = generateKeyPairSync('ed25519').privateKey;
    const signer = cosigner('w.example/1', witness, 1_700_000_000);
    const cosigned = { ...receipt, tlog_proof: log.proof(17, 300, log.checkpoint(300, signer)) };
    const vkey = ed25519Vkey('w.example/1', createPublicKey(witness), SIGNATURE_TYPE.cosignature);
    const both = file('both', `${log.vkey()}\n${vkey}\n`);
    const path = file('cosigned.json', cosigned);
    const known = await run(
      'receipt',
      'verify',
      path,
      '--keys',
      both,
      '--witnesses',
      '1',
      '--json',
    );
    expect(known.code).toBe(0);
    expect(parsed(known)['witnesses']).toEqual([
      { name: 'w.example/1', cosigned_at: '2023-11-14T22:13:20.000Z' },
    ]);
    expect((await verify(path, '--witnesses', '1')).code).toBe(1);
  });

  it('proves an event by its header', async () => {
    const proof = `c2sp.org/tlog-proof@v1\nextra ${Buffer.from('{"record":5}').toString('base64')}\n`;
    const good = file('5.tlog-proof', log.proof(5).replace('c2sp.org/tlog-proof@v1\n', proof));
    const json = await verify(good, '--json');
    expect(parsed(json)).toMatchObject({ kind: 'event', index: 5, claims: { record: 5 } });
    const bad = file('6.tlog-proof', log.proof(6).replace('c2sp.org/tlog-proof@v1\n', proof));
    expect((await verify(bad)).code).toBe(1);
    expect((await verify(file('bare.tlog-proof', log.proof(5)))).code).toBe(1);
  });
});

describe('precedent consistency on files (P4)', () => {
  const log = SmallLog.of(300);
  const keys = file('consistency-keys', log.vkey());
  const [older, newer] = [log.receipt(7, { size: 100 }), log.checkpoint(300)];
  const proof = consistencyProof(100, 300, log.read()).map(toBase64);
  const check = (
    a: string,
    b: string,
    hashes: readonly string[],
    ...more: string[]
  ): Promise<Ran> =>
    run('consistency', a, b, '--keys', keys, '--proof', file('proof', hashes.join('\n')), ...more);

  it('checks a receipt and a checkpoint with a proof, without a ledger', async () => {
    const json = await check(file('old.json', older), file('new', newer), proof, '--json');
    expect(json.stderr).toBe('');
    expect(parsed(json)).toMatchObject({
      schema: 'precedent.consistency/1',
      consistent: true,
      origin: log.origin,
      old: { size: 100, signed: true },
      new: { size: 300, signed: true },
      proof,
    });
  });

  it(
    'refuses a fork, a wrong proof, another log and the wrong order',
    async () => {
      const forked = log.forkedAt(0);
      const [a, b] = [file('old', log.checkpoint(100)), file('new', newer)];
      const fork = await check(a, file('fork', forked.checkpoint(300)), proof);
      expect([fork.code, fork.stderr]).toEqual([1, expect.stringContaining('does not continue')]);
      const itsOwn = consistencyProof(100, 300, forked.read()).map(toBase64);
      const own = await check(a, file('fork', forked.checkpoint(300)), itsOwn);
      expect([own.code, own.stderr]).toEqual([
        1,
        expect.stringContaining('not the one that was signed'),
      ]);
      expect((await check(a, b, proof.slice(1))).code).toBe(1);
      const sameSize = await check(b, file('fork', forked.checkpoint(300)), []);
      expect([sameSize.code, sameSize.stderr]).toEqual([1, expect.stringContaining('differ')]);
      const stranger = new SmallLog('precedent/other').append(...log.records);
      stranger.privateKey = log.privateKey;
      const twoKeys = file('two', `${log.vkey()}\n${stranger.vkey()}`);
      const other = file('other', stranger.checkpoint(300));
      const twoLogs = await run(
        'consistency',
        a,
        other,
        '--keys',
        twoKeys,
        '--proof',
        file('proof', proof.join('\n')),
      );
      expect([twoLogs.code, twoLogs.stderr]).toEqual([1, expect.stringContaining('two logs')]);
      expect((await check(b, a, proof)).code).toBe(2);
      expect(
        (await run('consistency', a, b, '--proof', file('proof', proof.join('\n')))).code,
      ).toBe(2);
    },
    LONG,
  );
});
