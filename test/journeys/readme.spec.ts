import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasCorpora } from '../support/corpora.js';
import { plainEnvironment } from '../support/server.js';

const README = readFileSync('README.md', 'utf8');
/** The commands of the quick start, as a newcomer copies them. */
const [, QUICK_START = ''] = /## Quick start\n([^]*?)\n## /.exec(README) ?? [];
const commands = [...QUICK_START.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, block = '']) =>
  block.split('\n').filter((line) => line !== ''),
);
const [, EXAMPLE = ''] = /```text\n([^]*?)```/.exec(QUICK_START) ?? [];

const env = {
  ...plainEnvironment(),
  NO_COLOR: '1',
  PRECEDENT_PORT: '0',
  PRECEDENT_DATA: mkdtempSync(join(tmpdir(), 'precedent-readme-')),
};

function sh(command: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn('sh', ['-c', command], { env });
  const heard = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (heard.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (heard.err += chunk.toString()));
  return new Promise((resolve) =>
    child.once('close', (code) => {
      resolve({ code, ...heard });
    }),
  );
}

const run = hasCorpora ? describe : describe.skip;

run('the README’s quick start, word for word', () => {
  let server: ChildProcess;
  let said = '';
  beforeAll(async () => {
    server = spawn('sh', ['-c', `exec ${commands[0] ?? 'false'}`], { env, detached: true });
    server.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    for (let i = 0; i < 1_200 && !said.includes('Paste this'); i++)
      await new Promise((resolve) => setTimeout(resolve, 100));
  }, 150_000);
  afterAll(async () => {
    if (server.pid !== undefined && server.exitCode === null) {
      const closed = once(server, 'close');
      process.kill(-server.pid, 'SIGTERM');
      await closed;
    }
    rmSync(env.PRECEDENT_DATA, { recursive: true, force: true });
  });

  it('has three commands: start, ingest, ask', () => {
    expect(commands.map((c) => c.split(' ').slice(0, 3).join(' '))).toEqual([
      'npm start',
      'npx precedent ingest',
      'npx precedent ask',
    ]);
  });

  it('starts and prints address, key and client settings', () => {
    expect(said).toMatch(/Precedent is ready at http:\/\/127\.0\.0\.1:\d+/);
    expect(said).toMatch(/Owner key +prec_\w+_\w+/);
    expect(said).toContain('"mcpServers"');
  });

  it('ingests the folder of a real team', async () => {
    const { code, out } = await sh(commands[1] ?? '');
    expect(code).toBe(0);
    expect(out).toMatch(/Ingested 59 documents[^]*47 +stored[^]*4 +skipped[^]*8 +queued/);
  });

  it('answers through MCP exactly as printed, with decision, since when, approver, superseded history and excerpt', async () => {
    const { code, out } = await sh(commands[2] ?? '');
    expect(code).toBe(0);
    const timeless = (text: string): string =>
      text.replace(/\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC/g, '<time>').trim();
    expect(timeless(out)).toBe(timeless(EXAMPLE));
    for (const part of [
      'Current  Use Amazon SES',
      'since 2023-03-27',
      'by owner',
      'No longer in force',
      '│ Use [Amazon SES]',
    ])
      expect(out).toContain(part);
  });

  it('answers what held then', async () => {
    const [, asOf = ''] = /`(npx precedent ask [^`]*--as-of[^`]*)`/.exec(QUICK_START) ?? [];
    expect((await sh(asOf)).out).toContain('Current  Use GOV.UK Notify');
  });
});
