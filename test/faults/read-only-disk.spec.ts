import { afterAll, afterEach, describe, expect } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  canMount,
  canTrace,
  cleanUp,
  expectWhole,
  folder,
  itWith,
  mounted,
  unmount,
} from '../support/fault-kit.js';
import { breakDisk, completed, history, ingest, send, wholeLog } from '../support/fault-server.js';
import { plainEnvironment, startServer, type RunningServer } from '../support/server.js';
import { proved } from '../support/proved.js';

let server: RunningServer | undefined;
let tracer: ChildProcess | undefined;
let mount: string | undefined;
afterEach(async () => {
  tracer?.kill('SIGKILL');
  await server?.stop('SIGKILL');
  if (mount !== undefined) unmount(mount);
  mount = undefined;
});
afterAll(cleanUp);

/** Starts on the ledger again: what was sent before is there once, and the rest can be written. */
async function settled(dir: string, sent: readonly number[]): Promise<void> {
  const door = (server = await startServer({ dir }));
  for (const n of sent) await completed(door, await ingest(door, n));
  expect(await door.stop()).toBe(0);
  const log = await wholeLog(dir);
  expectWhole(log);
  const stored = log.filter(({ type }) => type === 'IngestionSubmitted');
  expect(stored).toHaveLength(new Set(sent).size);
}

describe('a disk that can only be read', () => {
  itWith(canTrace && process.getuid?.() === 0, 'strace, as root')(
    'P6 P7: turned read-only under the server: no write is acknowledged, reads go on; once it can be written all is settled by a retry',
    async () => {
      const dir = folder();
      const door = (server = await startServer({ dir }));
      await completed(door, await ingest(door, 0));
      tracer = await breakDisk(door, 'pwrite64,ftruncate', 'EROFS');
      const replies = [await ingest(door, 1), await ingest(door, 2)];
      for (const { status, type, body } of replies) {
        expect({ status, type: type?.split(';')[0] }).toEqual({
          status: 503,
          type: 'application/problem+json',
        });
        expect(['storage_error', 'outcome_unknown', 'store_closed_for_writing']).toContain(
          body['error'],
        );
      }
      expect((await history(door, 0)).status).toBe(200);
      expect((await send(door, '/health/live')).status).toBe(200);
      await door.stop('SIGKILL');
      await settled(dir, [0, 1, 2, 1, 2]);
      proved('disk read-only under the server', {
        'faults injected': 1,
        refused: replies.length,
        lost: 0,
      });
    },
    120_000,
  );

  itWith(canMount, 'root and mount (tmpfs)')(
    'P6: a server does not start on it and says why; the ledger on it is read as it is, and written again without repair',
    async () => {
      const dir = (mount = folder());
      mounted(dir, '-t', 'tmpfs', '-o', 'size=60m', 'tmpfs');
      const door = (server = await startServer({ dir }));
      await completed(door, await ingest(door, 0));
      expect(await door.stop()).toBe(0);
      const before = await wholeLog(dir);
      mounted(dir, '-o', 'remount,ro');
      const { code, said } = await startedOn(dir);
      expect(code).not.toBe(0);
      expect(said).toMatch(
        /^precedent: nothing can be written in [^\n]*read-only file system[^\n]*\n[^\n]*nothing needs repair\n$/,
      );
      expect(await wholeLog(dir)).toEqual(before);
      mounted(dir, '-o', 'remount,rw');
      await settled(dir, [0, 1]);
    },
    120_000,
  );
});

/** A server that is expected to end by itself: its exit code and stderr. */
async function startedOn(dir: string): Promise<{ code: unknown; said: string }> {
  const child = spawn(process.execPath, ['dist/apps/server/src/main.js'], {
    env: { ...plainEnvironment(), PRECEDENT_DATA: dir, PRECEDENT_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = await once(child, 'close');
  return { code, said };
}
