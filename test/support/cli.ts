import { spawn, type ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { plainEnvironment } from './server.js';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** What it printed with --json. */
export function parsed({ stdout }: Pick<Ran, 'stdout'>): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** The built command line as a process of its own, started as a user does, in a folder without settings. */
export function precedent(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Ran> {
  const child = spawn(process.execPath, [resolve('apps/cli/precedent.mjs'), ...args], {
    cwd: tmpdir(),
    env: { ...plainEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ran: Ran = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (ran.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (ran.stderr += chunk.toString()));
  onStart(child);
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ ...ran, code }));
  });
}
