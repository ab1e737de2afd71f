import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { itWith } from '../support/fault-kit.js';

// scripts/test.mjs must come to its last line whatever the tests leave behind, so what it stands on is tested from outside.

interface End {
  code: number;
  stopped?: string;
  left: string[];
}

/** What `runGroup` says of a program of Node, which it lets run for `limitMs` at most. */
async function ran(program: string, limitMs = 60_000): Promise<End & { ms: number }> {
  const script = `
    import { runGroup } from ${JSON.stringify(resolve('scripts/processes.mjs'))};
    const from = performance.now();
    const watch = () => performance.now() - from > ${limitMs} ? 'too long' : undefined;
    const env = process.env;
    const end = await runGroup(process.execPath, ['-e', ${JSON.stringify(program)}], { env, watch });
    console.log(JSON.stringify({ ...end, ms: performance.now() - from }));`;
  const env = { ...process.env, NODE_OPTIONS: '' };
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout.split('\n').at(-2) ?? '') as End & { ms: number };
}

/** Starts one process that sleeps, and writes its id to a file. */
const sleeper = (file: string, options: string): string =>
  `const child = require('child_process').spawn('sleep', ['300'], ${options});
   require('fs').writeFileSync(${JSON.stringify(file)}, String(child.pid));
   child.unref();`;

/** False also for one that has ended and that nobody has asked for. */
function lives(pid: string): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !/\) [ZX] /.test(readFileSync(stat, 'utf8'));
}

describe('a program that npm test runs', () => {
  const linux = process.platform === 'linux';

  it('passes its exit code on', async () => {
    expect(await ran('process.exit(3)')).toMatchObject({ code: 3, left: [] });
  });

  itWith(linux, 'Linux')('leaves no process, stopped or in a session of its own', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'precedent-processes-'));
    const files = ['stopped', 'detached'].map((name) => join(dir, name));
    const [stopped = '', detached = ''] = files;
    const end = await ran(`
      ${sleeper(stopped, "{ stdio: 'inherit' }")}
      process.kill(child.pid, 'SIGSTOP');
      { ${sleeper(detached, "{ stdio: 'ignore', detached: true }")} }`);
    expect(end.code).toBe(0);
    expect(end.left).toHaveLength(2);
    expect(end.left.join()).toContain('sleep 300');
    expect(files.map((file) => lives(readFileSync(file, 'utf8')))).toEqual([false, false]);
    rmSync(dir, { recursive: true });
  });

  itWith(linux, 'Linux')(
    'is killed when it is stuck for ever, and where it waits is told',
    async () => {
      const stuck = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
      const end = await ran(stuck, 500);
      expect(end).toMatchObject({ code: 1, stopped: 'too long' });
      expect(end.ms).toBeLessThan(20_000);
      expect(end.left.join('\n')).toMatch(/thread \d+ .*MainThread/);
    },
  );

  it('has its proofs gathered in one table, added up', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'precedent-proved-'));
    const file = join(dir, 'proved.jsonl');
    const line = (what: string, numbers: object): string =>
      `${JSON.stringify({ what, numbers })}\n`;
    writeFileSync(
      file,
      line('kills', { 'crash cycles': 20, lost: 0 }) +
        line('cuts', { 'crash cycles': 12, 'faults injected': 1_000 }) +
        line('kills', { 'crash cycles': 3, acknowledged: 5 }),
    );
    const script = `
      import { provedTable } from ${JSON.stringify(resolve('scripts/proved.mjs'))};
      process.stdout.write(provedTable(${JSON.stringify(file)}) + provedTable('/nowhere'));`;
    const args = ['--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(stdout.split('\n')).toEqual([
      'What the tests proved',
      'cuts    12 crash cycles, 1,000 faults injected',
      'kills   23 crash cycles, 0 lost, 5 acknowledged',
      'in all  35 crash cycles, 1,000 faults injected, 0 histories checked, 0 events compared, 0 lost',
      '',
      '',
    ]);
    rmSync(dir, { recursive: true });
  });
});
