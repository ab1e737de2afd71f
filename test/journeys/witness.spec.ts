import { spawn } from 'node:child_process';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { SIGNATURE_TYPE, ed25519Vkey, parseVkey } from '#transparency/note.js';
import { Auditor } from '../support/auditor.js';
import { parsed, type Ran } from '../support/cli.js';
import { hasCorpora } from '../support/corpora.js';
import { proved } from '../support/proved.js';
import { plainEnvironment } from '../support/server.js';
import { SmallLog } from '../support/small-log.js';
import { VECTORS } from '../support/vectors.js';

/** Milliseconds for a test that starts a dozen processes, also where the machine has other work. */
const LONG = 240_000;

/** Logs that grow, fork, go back or fall silent, and a witness that is asked at once or killed. */
const auditor = new Auditor();
afterAll(() => auditor.leave());

const run = (...args: string[]): Promise<Ran> => auditor.run(...args);
const file = (name: string, content: string | object): string => auditor.file(name, content);

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
    log = SmallLog.of(1000);
    keys = file('log-keys', log.vkey());
    state = mkdtempSync(auditor.at('state-'));
    show(log, 100);
  });

  function show(served: SmallLog, size: number): void {
    seen = size;
    shown = (path) => served.resource(path, size);
  }

  const against = (log: string): string[] =>
    ['witness', log, '--key', key, '--name', name].concat('--log-keys', keys, '--state', state);
  const witness = (...more: string[]): Promise<Ran> => run(...against(url), ...more);
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
      const forked = log.forkedAt(50);
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
      const forked = log.forkedAt(150);
      const RUNS = 6;
      let asked = 0;
      // Two readers, two histories: each continues what was cosigned, together they are a fork.
      shown = (path) => {
        const [, side] = /^(?:(\d)\/)/.exec(path) ?? [];
        asked += 1;
        return (side === '0' ? log : forked).resource(path.replace(/^\d\//, ''), 400);
      };
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, i) => run(...against(`${url}/${i % 2}`))),
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
          [resolve('apps/cli/precedent.mjs'), ...against(url)],
          {
            env: plainEnvironment(),
            stdio: 'ignore',
          },
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
    [
      'the keys of another log',
      ['--log-keys', file('others', SmallLog.of(1).vkey())],
      1,
      'not_proved',
    ],
    ['no such file', ['--log-keys', auditor.at('absent')], 3, 'unreadable_file'],
  ])('ends on %s with its code', async (_what, args, code, error) => {
    const ran = await witness(...args, '--json');
    expect([ran.code, parsed(ran)['error']]).toEqual([code, error]);
  });

  it('ends with 3 where nothing answers, and with 2 where there is no log', async () => {
    expect((await run(...against('http://127.0.0.1:9/log'))).code).toBe(3);
    expect((await run(...against(auditor.at('absent')))).code).toBe(2);
  });

  (hasCorpora ? it : it.skip)('cosigns a foreign log in a folder', async () => {
    const vkey = 'example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx';
    const foreign = join(VECTORS, 'tlog/testdata/log');
    const ran = await run(...against(foreign), '--log-keys', file('foreign', vkey));
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(openCheckpoint(ran.stdout, [parseVkey(vkey), own]).size).toBe(15);
  });
});
