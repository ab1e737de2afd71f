import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadOf } from '#kernel/thread.js';
import { canMount, canTrace, itWith } from '../../test/support/fault-kit.js';
import { log } from './conformance-support.js';
import { openSqliteReader } from './sqlite.js';

interface Outcome {
  acknowledged: number;
  failure: string;
  readable: number;
  next: string;
}

// Real faults of the system, in a child process: a full disk, a failing fsync, a failing write.
const { url, execArgv } = threadOf(import.meta.url, '../../test/support/fault-writer');

function run(wrap: readonly string[], dir: string, retry?: number): Outcome {
  const node = [process.execPath, ...execArgv, fileURLToPath(url), dir];
  const [command = '', ...args] = [...wrap, ...node, ...(retry === undefined ? [] : [`${retry}`])];
  const env = { ...process.env, NODE_OPTIONS: '' };
  return JSON.parse(execFileSync(command, args, { env, encoding: 'utf8' })) as Outcome;
}

describe('sqlite engine under faults of the disk', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ledger-fault-'));
  });
  afterEach(() => {
    rmSync(dir, { recursive: true });
  });

  /** The failed append, retried by another process, is there once. */
  async function settles(acknowledged: number): Promise<void> {
    expect(['stored', 'replayed']).toContain(run([], dir, acknowledged).next);
    const reader = openSqliteReader(dir);
    expect(await log(reader)).toHaveLength(acknowledged + 1);
    await reader.close();
  }

  itWith(canTrace, 'strace')(
    'P6 P7 B05: fsync fails: unknown outcome, writing stops, a retry settles it',
    async () => {
      const inject = 'inject=fsync,fdatasync:error=EIO:when=25';
      const wrap = [
        'strace',
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-e',
        'trace=fsync,fdatasync',
        '-e',
        inject,
      ];
      const { acknowledged, ...outcome } = run(wrap, dir);
      expect(outcome).toEqual({
        failure: 'unknown',
        readable: acknowledged,
        next: 'store_closed_for_writing',
      });
      await settles(acknowledged);
    },
  );

  it('P6 P7: a write fails: unknown outcome, reading goes on, nothing needs repair', async () => {
    const wrap = ['bash', '-c', 'ulimit -f 3000; exec "$@"', '-'];
    const { acknowledged, ...outcome } = run(wrap, dir);
    expect(acknowledged).toBeGreaterThan(0);
    expect(outcome).toMatchObject({ failure: 'unknown', readable: acknowledged });
    await settles(acknowledged);
  });

  itWith(canMount, 'root and mount (tmpfs)')(
    'P6: the disk is full: refused, nothing stored, and writing goes on once there is room',
    () => {
      const mount = `mount -t tmpfs -o size=6m tmpfs ${dir} && head -c 2000000 /dev/zero > ${dir}/ballast`;
      const { acknowledged, ...outcome } = run(
        ['unshare', '-m', 'bash', '-c', `${mount} && exec "$@"`, '-'],
        dir,
      );
      expect(acknowledged).toBeGreaterThan(0);
      expect(outcome).toEqual({ failure: 'storage_full', readable: acknowledged, next: 'stored' });
    },
  );
});
