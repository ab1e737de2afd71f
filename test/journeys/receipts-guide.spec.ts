import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent } from '../support/cli.js';
import { proved } from '../support/proved.js';
import { plainEnvironment, startServer, type RunningServer } from '../support/server.js';

const [, EXAMPLE = ''] =
  /```sh\n([^]*?)```/.exec(readFileSync('docs/guide/receipts.md', 'utf8')) ?? [];
const commands = EXAMPLE.trimEnd().split('\n');
const CLI = `"${process.execPath}" "${resolve('apps/cli/precedent.mjs')}"`;

const folder = mkdtempSync(join(tmpdir(), 'precedent-receipts-'));
const at = (name: string): string => join(folder, name);
const counted = { 'by our command line': 0, 'by openssl and python': 0, refused: 0 };
let server: RunningServer;

const env = () => ({ PRECEDENT_URL: server.url, PRECEDENT_KEY: server.key, NO_COLOR: '1' });

/** A line of the guide, in a folder where a reader would be. */
function sh(line: string): { status: number | null; said: string } {
  const decision = /"id": "(use-[^"]*)"/.exec(readFileSync(at('answer.json'), 'utf8'))?.[1];
  const command = line
    .replace('npx precedent', CLI)
    .replace('docs/', `${resolve('docs')}/`)
    .replace('<decision-id>', decision ?? '');
  const options = {
    cwd: folder,
    env: { ...plainEnvironment(), ...env() },
    encoding: 'utf8',
  } as const;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], options);
  return { status, said: `${stdout}${stderr}` };
}

const publicKeys = (as: string): void => {
  cpSync(join(server.dir, 'log-keys.txt'), at(as));
};
const verify = (receipt: string, keys: string) =>
  precedent(['receipt', 'verify', at(receipt), '--keys', at(keys), '--json'], env());

beforeAll(async () => {
  server = await startServer();
  writeFileSync(at('answer.json'), '');
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${server.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const said = 'Use PostgreSQL';
  const record = { topic: said, statement: said, status: 'approved', evidence: [{ quote: said }] };
  const source = { title: said, type: 'note', text: `${said}, from May on. € 😀` };
  await post('ingestions', { source, records: [record] });
  // The keys are laid down before the first receipt is out.
  for (let state = ''; state !== 'verified';) {
    const reply = await post('answers', { question: said, receipt: true });
    state = String(((await reply.json()) as { state?: unknown }).state);
  }
  publicKeys('log-keys.txt');
}, 120_000);

afterAll(async () => {
  await server.stop();
  for (const dir of [folder, server.dir]) rmSync(dir, { recursive: true, force: true });
  proved('receipts of a real server', counted);
});

describe('the guide on receipts, word for word', () => {
  it('has the commands that get and verify them', () => {
    expect(commands.map((line) => line.split(' ').slice(0, 4).join(' '))).toEqual([
      'npx precedent ask "Use',
      'npx precedent receipt verify',
      'npx precedent receipt get',
      'npx precedent receipt verify',
      'python3 docs/verify-receipt.py receipt.json log-keys.txt',
    ]);
  });

  it('P9: gets an answer and an approval, and verifies them with and without our code', () => {
    const said = commands.map((line) => {
      const { status, said } = sh(line);
      expect([line, status, said]).toEqual([line, 0, said]);
      return said;
    });
    const [asked, answer, got, approval, foreign] = said;
    expect([asked, got]).toEqual(['', '']);
    expect(answer).toMatch(/Proved: answer[^]*the one that the receipt is for[^]*verified/);
    expect(approval).toMatch(/Proved: approval[^]*approvers +\["owner"\]/);
    expect(foreign).toMatch(/^proved: answer of event \d+ in precedent\/[0-9a-f]{32}/);
    counted['by our command line'] += 2;
    counted['by openssl and python'] += 1;
  });

  it('P9: without our code an approval is proved too, and one changed byte is not', () => {
    const script = 'python3 docs/verify-receipt.py';
    expect(sh(`${script} approval.json log-keys.txt`)).toMatchObject({ status: 0 });
    counted['by openssl and python'] += 1;
    const receipt = JSON.parse(readFileSync(at('approval.json'), 'utf8')) as { payload: string };
    const statement = Buffer.from(receipt.payload, 'base64').toString();
    const payload = Buffer.from(statement.replace('"owner"', '"other"')).toString('base64');
    writeFileSync(at('changed.json'), JSON.stringify({ ...receipt, payload }));
    expect(sh(`${script} changed.json log-keys.txt`)).toMatchObject({ status: 1 });
    expect(sh(`${script} receipt.json log-keys.txt approval.json`)).toMatchObject({ status: 1 });
    counted.refused += 2;
  });
});

describe('precedent receipt get', () => {
  const get = (...args: string[]) => precedent(['receipt', 'get', ...args], env());

  it.each([
    ['decision', 'unknown_decision'],
    ['conflict', 'unknown_conflict'],
    ['answer', 'unknown_call'],
  ])('one of a %s that is not there ends with 1 and says what helps', async (kind, error) => {
    const { code, stdout, stderr } = await get(kind, 'nothing.0123456789ab');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`error +${error}[^]*fix +take`));
  });

  it('ends with 2 where the kind is none, or where the file cannot be written, and leaves nothing there', async () => {
    expect((await get('answers', 'x')).code).toBe(2);
    const file = join(folder, 'no', 'such', 'folder.json');
    const asked = await precedent(['ask', 'Use PostgreSQL', '--receipt', file], env());
    expect([asked.code, asked.stdout]).toEqual([2, expect.stringContaining('Use PostgreSQL')]);
    expect(asked.stderr).toMatch(/cannot be written[^]*fix/);
    expect(readdirSync(folder).filter((name) => name.includes('part'))).toEqual([]);
  });

  it('prints the receipt, or one document with --json, and both verify', async () => {
    const { decision } = JSON.parse(readFileSync(at('answer.json'), 'utf8')) as {
      decision: { id: string };
    };
    for (const more of [[], ['--json']]) {
      const { stdout } = await get('decision', decision.id, ...more);
      writeFileSync(at('printed.json'), stdout);
      const { code } = await verify('printed.json', 'log-keys.txt');
      expect([more, code]).toEqual([more, 0]);
      counted['by our command line'] += 1;
    }
  });
});

describe('after the log got a new key', () => {
  it('P9: old receipts verify with old and new keys, new ones with the new', async () => {
    const rotated = await precedent(['keys', 'rotate-log', '--json'], env());
    expect([rotated.code, rotated.stderr]).toEqual([0, '']);
    sh('npx precedent ask "Use PostgreSQL" --receipt later.json --json > later-answer.json');
    publicKeys('new-keys.txt');
    for (const [receipt, keys] of [
      ['receipt.json', 'log-keys.txt'],
      ['receipt.json', 'new-keys.txt'],
      ['approval.json', 'new-keys.txt'],
      ['later.json', 'new-keys.txt'],
    ] as const) {
      const { code, stderr } = await verify(receipt, keys);
      expect([receipt, keys, code, stderr]).toEqual([receipt, keys, 0, '']);
      counted['by our command line'] += 1;
      expect(sh(`python3 docs/verify-receipt.py ${receipt} ${keys}`)).toMatchObject({ status: 0 });
      counted['by openssl and python'] += 1;
    }
    expect((await verify('later.json', 'log-keys.txt')).code).toBe(1);
    counted.refused += 1;
  });

  it('P9: a copy of the stopped ledger agrees with all of them', async () => {
    await server.stop();
    const files = ['receipt.json', 'approval.json', 'later.json'].flatMap((f) => [
      '--receipts',
      at(f),
    ]);
    const ran = await precedent(
      ['verify', '--data', server.dir, '--keys', at('new-keys.txt'), '--json', ...files],
      { NO_COLOR: '1' },
    );
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, checked: { receipts: 3 } });
  });
});
