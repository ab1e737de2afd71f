import { spawn } from 'node:child_process';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { toBase64 } from '#transparency/base64.js';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { consistencyProof } from '#transparency/merkle.js';
import { SIGNATURE_TYPE, cosigner, ed25519Vkey, parseVkey } from '#transparency/note.js';
import { answerDigest } from '#transparency/receipt.js';
import { precedent, type Ran } from '../support/cli.js';
import { hasCorpora } from '../support/corpora.js';
import { proved } from '../support/proved.js';
import { plainEnvironment } from '../support/server.js';
import { SmallLog } from '../support/small-log.js';
import { VECTORS } from '../support/vectors.js';

/** Milliseconds for a test that starts a dozen processes, also where the machine has other work. */
const LONG = 240_000;
/** The verbs on proofs where there is no ledger: files and logs of others. */
const scratch = mkdtempSync(join(tmpdir(), 'precedent-proofs-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Ran> => precedent(args, {});
const parsed = ({ stdout }: Ran): Record<string, unknown> =>
  JSON.parse(stdout) as Record<string, unknown>;

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const newLog = (count = 300): SmallLog =>
  new SmallLog().append(...Array.from({ length: count }, (_, i) => `{"record":${i}}`));

describe('precedent receipt verify (P9)', () => {
  const log = newLog();
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
          file('other', newLog(1).vkey()),
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
    ['no file', () => verify(join(scratch, 'absent')), 3, 'unreadable_file'],
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
  const log = newLog();
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
      const forked = new SmallLog();
      forked.privateKey = log.privateKey;
      forked.append('a lie', ...log.records.slice(1));
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

describe('precedent witness (P4)', () => {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const key = file('witness.pem', pem.toString());
  const name = 'w.example/1';
  const own = parseVkey(ed25519Vkey(name, createPublicKey(pem), SIGNATURE_TYPE.cosignature));
  let log: SmallLog;
  let keys: string;
  let state: string;
  let seen: number;
  let shown: (path: string) => Buffer | undefined;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const bytes = shown((request.url ?? '').replace('/log/', ''));
      response.writeHead(bytes ? 200 : 404).end(bytes);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/log`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  beforeEach(() => {
    log = newLog(1000);
    keys = file('log-keys', log.vkey());
    state = mkdtempSync(join(scratch, 'state-'));
    show(log, 100);
  });

  function show(served: SmallLog, size: number): void {
    seen = size;
    shown = (path) => served.resource(path, size);
  }

  const witness = (...more: string[]): Promise<Ran> =>
    run(
      'witness',
      url,
      '--key',
      key,
      '--name',
      name,
      '--log-keys',
      keys,
      '--state',
      state,
      ...more,
    );
  const kept = (): string[] => {
    const [folder = ''] = readdirSync(state);
    return readdirSync(join(state, folder)).sort();
  };

  it(
    'cosigns a log that grows, and keeps every step',
    async () => {
      for (const size of [100, 257, 1000]) {
        show(log, size);
        const ran = await witness();
        expect([ran.code, ran.stderr]).toEqual([0, '']);
        const opened = openCheckpoint(ran.stdout, [parseVkey(log.vkey()), own]);
        expect(opened.size).toBe(seen);
        expect(opened.signatures.map(({ verified }) => verified)).toEqual([true, true]);
      }
      const again = await witness('--json');
      expect(parsed(again)).toMatchObject({
        schema: 'precedent.witness/1',
        origin: log.origin,
        previous_size: 1000,
        size: 1000,
        vkey: own.vkey,
      });
      const steps = ['after-0', 'after-100', 'after-257'].map((s) => `${s}.checkpoint`);
      expect(kept()).toEqual([...steps, 'checkpoint']);
      // The log hands out what was cosigned before: it is cosigned anew, not twice.
      const { checkpoint } = parsed(again) as { checkpoint: string };
      shown = (path) =>
        path === 'checkpoint' ? Buffer.from(checkpoint) : log.resource(path, 1000);
      const third = await witness();
      expect(third.stdout.match(/^— /gm)?.length).toBe(2);
    },
    LONG,
  );

  it(
    'refuses a fork, an older tree and tiles that do not fit, and keeps the evidence',
    async () => {
      expect((await witness()).code).toBe(0);
      const forked = new SmallLog().append(
        ...log.records.slice(0, 50),
        'a lie',
        ...log.records.slice(51),
      );
      forked.privateKey = log.privateKey;
      const lies: [string, () => void][] = [
        ['not the one that was signed', () => show(forked, 300)],
        ['differ', () => show(forked, 100)],
        ['an older tree', () => show(log, 99)],
        [
          'not of the tree of 300 leaves',
          () => (shown = (path) => (path === 'checkpoint' ? log : forked).resource(path, 300)),
        ],
      ];
      for (const [said, lie] of lies) {
        lie();
        const ran = await witness();
        expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, '', expect.stringContaining(said)]);
      }
      const evidence = kept().filter((path) => path.startsWith('refused-'));
      expect(evidence.length).toBe(lies.length);
      for (const path of evidence) {
        const [folder = ''] = readdirSync(state);
        openCheckpoint(readFileSync(join(state, folder, path), 'utf8'), [parseVkey(log.vkey())]);
      }
      show(log, 300);
      expect((await witness()).code).toBe(0);
      proved('lies told to a witness', { told: lies.length, refused: lies.length });
    },
    LONG,
  );

  it(
    'never cosigns two histories, however many of it run at once or are killed',
    async () => {
      expect((await witness()).code).toBe(0);
      const forked = new SmallLog().append(
        ...log.records.slice(0, 150),
        'a lie',
        ...log.records.slice(151),
      );
      forked.privateKey = log.privateKey;
      const RUNS = 6;
      let asked = 0;
      // Two readers, two histories: each continues what was cosigned, together they are a fork.
      shown = (path) => {
        const [, side] = /^(?:(\d)\/)/.exec(path) ?? [];
        asked += 1;
        return (side === '0' ? log : forked).resource(path.replace(/^\d\//, ''), 400);
      };
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, i) =>
          run(
            'witness',
            `${url}/${i % 2}`,
            '--key',
            key,
            '--name',
            name,
            '--log-keys',
            keys,
            '--state',
            state,
          ),
        ),
      );
      const cosigned = runs.filter(({ code }) => code === 0);
      const roots = new Set(cosigned.map(({ stdout }) => stdout.split('\n')[2]));
      expect(asked).toBeGreaterThan(RUNS);
      expect(cosigned.length).toBeGreaterThan(0);
      expect(roots.size).toBe(1);
      expect(
        runs.map(({ code }) => code).filter((code) => ![0, 1, 4].includes(code ?? -1)),
      ).toEqual([]);
      show([...roots][0] === log.checkpoint(400).split('\n')[2] ? log : forked, 410);
      expect((await witness()).code).toBe(0);
      proved('witnesses at once', { runs: RUNS, cosigned: cosigned.length, histories: roots.size });
    },
    LONG,
  );

  it(
    'is never left between two states by a kill',
    async () => {
      const KILLS = 8;
      const STEP_MS = 6;
      let size = 100;
      const counts = { killed: 0, ended: 0 };
      for (let i = 0; i < KILLS; i++) {
        size += 10;
        const child = spawn(
          process.execPath,
          [
            resolve('apps/cli/precedent.mjs'),
            ...['witness', url, '--key', key, '--name', name, '--log-keys', keys],
            ...['--state', state],
          ],
          { env: plainEnvironment(), stdio: 'ignore' },
        );
        // A moment after its last request it checks, writes and signs.
        let killing: NodeJS.Timeout | undefined;
        shown = (path) => {
          clearTimeout(killing);
          killing = setTimeout(() => child.kill('SIGKILL'), i * STEP_MS);
          return log.resource(path, size);
        };
        const signal = await new Promise<string | null>((done) =>
          child.once('close', (_, by) => done(by)),
        );
        clearTimeout(killing);
        counts[signal === 'SIGKILL' ? 'killed' : 'ended'] += 1;
        show(log, size);
        const next = await witness('--json');
        expect([next.code, next.stderr]).toEqual([0, '']);
        expect(parsed(next)['size']).toBe(size);
      }
      expect(counts.killed).toBeGreaterThan(0);
      proved('kills of a witness', counts);
    },
    LONG,
  );

  it.each<[string, string[], number, string]>([
    ['a name with a space', ['--name', 'my witness'], 2, 'invalid_name'],
    ['a key that is none', ['--key', file('none.pem', 'no key')], 2, 'invalid_key'],
    ['the keys of another log', ['--log-keys', file('others', newLog(1).vkey())], 1, 'not_proved'],
    ['no such file', ['--log-keys', join(scratch, 'absent')], 3, 'unreadable_file'],
  ])('ends on %s with its code', async (_what, args, code, error) => {
    const ran = await witness(...args, '--json');
    expect([ran.code, parsed(ran)['error']]).toEqual([code, error]);
  });

  it('ends with 3 where nothing answers, and with 2 where there is no log', async () => {
    const gone = ['--key', key, '--name', name, '--log-keys', keys, '--state', state];
    expect((await run('witness', 'http://127.0.0.1:9/log', ...gone)).code).toBe(3);
    expect((await run('witness', join(scratch, 'absent'), ...gone)).code).toBe(2);
  });

  (hasCorpora ? it : it.skip)('cosigns a foreign log in a folder', async () => {
    const vkey = 'example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx';
    const ran = await run(
      ...['witness', join(VECTORS, 'tlog/testdata/log'), '--key', key, '--name', name],
      ...['--log-keys', file('foreign', vkey), '--state', state],
    );
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(openCheckpoint(ran.stdout, [parseVkey(vkey), own]).size).toBe(15);
  });
});
