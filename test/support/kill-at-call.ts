import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from './server.js';

/** A moment of a running server: its n-th `call` on `file` of its data folder, counted from when it is watched. */
export interface Moment {
  file: string;
  call: 'pwrite64' | 'fsync' | 'unlink';
  n: number;
}

/** Once it resolves, the server dies by SIGKILL in place of that call. Needs strace, which ends with the server. */
export async function killAtCall(
  { dir, process: { pid = 0 } }: RunningServer,
  { file, call, n }: Moment,
): Promise<void> {
  const watched = ['-P', join(dir, file), '-e', `trace=${call}`];
  const fault = ['-e', `inject=${call}:signal=KILL:when=${n}`];
  const args = ['-f', '-o', '/dev/null', ...watched, ...fault, '-p', String(pid)];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  // It says so once it has all threads.
  for (let tries = 0; !/Process \d+ attached/.test(said); tries += 1) {
    if (tries > 1_000 || tracer.exitCode !== null) throw new Error(`strace: ${said}`);
    await delay(10);
  }
}
