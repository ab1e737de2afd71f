import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from '../../apps/cli/src/program.js';
import { precedent, type Ran } from '../support/cli.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';
import { verbs, type Verb } from '../support/verbs.js';

/** What every verb of the command line keeps to, whatever it does. Verbs are taken from the program itself, so none is left out. */

const CODES = new Set([0, 1, 2, 3, 4, 5, 130]);
const SCHEMA = /^precedent\.[a-z]+(?:[-_.][a-z]+)*\/\d+$/;
/** A terminal that is narrow, a language and a zone of its own: none of it may show. */
const ELSEWHERE = {
  TZ: 'Pacific/Kiritimati',
  LANG: 'tr_TR.UTF-8',
  LC_ALL: 'de_DE.UTF-8',
  COLUMNS: '40',
  TERM: 'xterm-256color',
};
const HERE = { TZ: 'America/Los_Angeles', LANG: 'C', COLUMNS: '200', TERM: 'dumb' };
const AT_ONCE = 4;
/** A third of the verbs is started in each run, another one on the next day: a process for each of them takes its time. */
const SHARES = 3;
const SHARE = Number(process.env['CONTRACT_SHARE'] ?? Math.floor(Date.now() / 86_400_000)) % SHARES;

let server: RunningServer;
let nothing: string;

beforeAll(async () => {
  server = await startServer();
  nothing = await mkdtemp(join(tmpdir(), 'precedent-nothing-'));
  await record();
}, 180_000);
afterAll(async () => {
  await server.stop();
  for (const dir of [server.dir, nothing]) await rm(dir, { recursive: true, force: true });
});

/** Decisions of a few years, one of which replaces another. */
async function record(): Promise<void> {
  const dir = join(nothing, 'adr');
  await mkdir(dir);
  for (let n = 1; n <= 20; n += 1) {
    const replaces = n % 2 === 0 ? `\n\nSupersedes [${n - 1}. Number ${n - 1}](${n - 1}.md)` : '';
    await writeFile(
      join(dir, `${n}.md`),
      `# ${n}. Number ${n}\n\nDate: ${2000 + (n % 20)}-03-01\n\n## Status\n\nAccepted${replaces}\n\n## Decision\n\nWe decide ${n} — für alle.\n`,
    );
  }
  const { code, stderr } = await precedent(['ingest', dir], { PRECEDENT_DATA: server.dir });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** A few processes at once. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

const named = ({ words }: Verb): string => words.join(' ');

function documentIn(stdout: string): { schema?: string } {
  return JSON.parse(stdout) as { schema?: string };
}

describe('every verb', () => {
  it('says in its help what it does, its options for programs, and the exit codes', () => {
    expect(verbs.length).toBeGreaterThan(30);
    const wrong = verbs.flatMap((verb) =>
      [
        /^Usage: precedent /,
        /\n {2}--json /,
        /\n {2}-q, --quiet /,
        /\n {2}--no-input /,
        /\nExit codes: 0 ok, 1 [^]* 2 [^]* 3 [^]* 4 [^]* 5 [^]*130 interrupted/,
      ]
        .filter((part) => !part.test(verb.help))
        .map((part) => `${named(verb)}: ${part.source}`),
    );
    expect(wrong).toEqual([]);
  });

  it('gives the same help on every machine, and no colour to a pipe', async () => {
    for (const words of [['diff'], ['keys', 'issue'], ['receipt', 'verify']]) {
      const ran = await precedent([...words, '--help'], { ...ELSEWHERE, PRECEDENT_DATA: nothing });
      const help = verbs.find((verb) => named(verb) === words.join(' '))?.help;
      expect(ran).toEqual({ code: 0, stdout: help, stderr: '' });
    }
    expect(verbs.map((v) => v.help).join('')).not.toContain('\u001b');
  });

  it('refuses an option that there is not', async () => {
    for (const verb of verbs) {
      const args = [...verb.words, ...verb.given('x'), '--no-such-option'];
      const parsed = build().parseAsync(args, { from: 'user' });
      await expect(parsed).rejects.toMatchObject({ code: 'commander.unknownOption' });
    }
    const env = { PRECEDENT_DATA: nothing };
    const words = await precedent(['ask', 'x', '--no-such-option'], env);
    expect(words).toMatchObject({ code: 2, stdout: '' });
    expect(words.stderr).toMatch(/^precedent: .*--no-such-option/);
    const json = await precedent(['keys', 'issue', '--no-such-option', '--json'], env);
    expect(json.code).toBe(2);
    expect(documentIn(json.stdout)).toMatchObject({
      schema: 'precedent.problem/1',
      error: 'usage',
    });
  });

  it(`never asks, says nothing beside the result, and ends with a code that is documented, where there is neither server nor ledger (CONTRACT_SHARE=${SHARE})`, async () => {
    const started = verbs.filter((_, i) => i % SHARES === SHARE);
    const ran = await each(started, async (verb) => {
      const args = [
        ...verb.words,
        ...verb.given(join(nothing, 'x')),
        '--json',
        '--quiet',
        '--no-input',
      ];
      const env = { PRECEDENT_DATA: join(nothing, 'none'), PRECEDENT_URL: '', PRECEDENT_KEY: '' };
      return { verb, ran: await precedent(args, env) };
    });
    for (const { verb, ran: one } of ran) {
      expect({ verb: named(verb), known: CODES.has(one.code ?? -1) }).toEqual({
        verb: named(verb),
        known: true,
      });
      const { schema = '' } = documentIn(one.stdout);
      expect({ verb: named(verb), schema, fits: SCHEMA.test(schema) }).toMatchObject({
        fits: true,
      });
      if (one.code === 0) expect(one.stderr).toBe('');
      expect(one.stderr).not.toContain('    at ');
    }
    proved('verbs of the command line held to its contract', { verbs: started.length });
  }, 300_000);
});

/** Verbs that read, as they are used. Where one takes NDJSON, that is another way to the same. */
const READING: readonly string[][] = [
  ['ask', 'Number 2', '--as-of', '2015-01-01'],
  ['history', 'Number 2'],
  ['history', 'Number 2', '--data', 'DATA'],
  ['as-of', 'Number 2', '--valid', '2015-01-01'],
  ['as-of', 'Number 2', '--valid', '2003-01-01', '--known', '5'],
  ['diff', '0'],
  ['diff', '2001-01-01', '2015-06-01', '--valid'],
  ['answers', '--from', '0'],
  ['replay'],
  ['replay', '--to', '20'],
  ['pending'],
  ['conflicts'],
  ['members'],
  ['keys'],
  ['ontology', 'show'],
  ['eval', 'show'],
];
const LONG: readonly string[][] = [
  ['diff', '0'],
  ['diff', '2001-01-01', '2015-06-01', '--valid'],
  ['answers'],
];

const onServer = (args: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
  precedent(
    args.map((arg) => (arg === 'DATA' ? server.dir : arg)),
    { ...env, PRECEDENT_DATA: server.dir },
  );

describe('every verb that reads', () => {
  it.each(READING.map((args) => [args.join(' '), args] as const))(
    '%s prints the same in every zone, language and width, without colour; with --json one document',
    async (_, args) => {
      const elsewhere = { ...ELSEWHERE, NO_COLOR: '1' };
      const text = await Promise.all([onServer(args, HERE), onServer(args, elsewhere)]);
      const json = await onServer([...args, '--json'], elsewhere);
      for (const { code, stderr } of [...text, json])
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(text[1]?.stdout).toBe(text[0]?.stdout);
      expect(text[0]?.stdout).not.toContain('\u001b');
      const { schema = '' } = documentIn(json.stdout);
      expect(schema).toMatch(SCHEMA);
    },
    60_000,
  );

  it.each(LONG.map((args) => [args.join(' '), args] as const))(
    '%s says the same with --ndjson, line by line',
    async (_, args) => {
      const { stdout } = await onServer([...args, '--ndjson']);
      const lines = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { schema: string; part: string });
      const { schema, ...whole } = JSON.parse(
        (await onServer([...args, '--json'])).stdout,
      ) as Record<string, unknown>;
      expect(new Set(lines.map((line) => line.schema))).toEqual(new Set([schema]));
      expect(lines[0]?.part).toBe('head');
      expect(lines.at(-1)?.part).toBe('end');
      const items = lines.slice(1, -1).map(({ schema: _schema, part: _part, ...item }) => item);
      const list = Object.values(whole).find((value) => Array.isArray(value));
      expect(items).toEqual(list);
    },
    60_000,
  );

  it.each([
    ['diff 0', 0],
    ['diff 0 --json', 0],
    ['history "Number 2" --json', 0],
    ['replay', 0],
    ['completion bash', 0],
    ['--help', 0],
  ])('%s ends silently when its reader leaves early', async (command) => {
    const script = `set -o pipefail; "${process.execPath}" ${resolve('apps/cli/precedent.mjs')} ${command} | head -1 >/dev/null; echo "$? \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((done) =>
      execFile(
        'bash',
        ['-c', script],
        { env: { ...process.env, PRECEDENT_DATA: server.dir } },
        (_error, stdout, stderr) => done({ stdout, stderr }),
      ),
    );
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: '0 0', stderr: '' });
  });
});

it('what waits ends with 130 when it is interrupted', async () => {
  const ran = await onInterrupt(['hammer', '--seconds', '60']);
  expect(ran.code).toBe(130);
  expect(ran.stdout).toBe('');
});

function onInterrupt(args: readonly string[]): Promise<Ran> {
  return precedent(args, { PRECEDENT_DATA: server.dir }, (child) => {
    setTimeout(() => child.kill('SIGINT'), 4_000);
  });
}
