import { afterAll, afterEach, expect } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { canTrace, cleanUp, expectWhole, folder, itWith } from '../support/fault-kit.js';
import { breakDisk, completed, history, ingest, send, wholeLog } from '../support/fault-server.js';
import { startServer, type RunningServer } from '../support/server.js';
import { proved } from '../support/proved.js';

let server: RunningServer | undefined;
let tracer: ChildProcess | undefined;
afterEach(async () => {
  tracer?.kill('SIGKILL');
  await server?.stop('SIGKILL');
});
afterAll(cleanUp);

itWith(canTrace && process.getuid?.() === 0, 'strace, as root')(
  'P1 P6 P7 B05: fsync fails under the server: outcome unknown, no more writes, reads go on; after a restart a retry stores once',
  async () => {
    const dir = folder();
    let door = (server = await startServer({ dir }));
    await completed(door, await ingest(door, 0));
    tracer = await breakDisk(door, 'fsync,fdatasync', 'EIO');

    const failed = await ingest(door, 1);
    expect({ status: failed.status, error: failed.body['error'] }).toEqual({
      status: 503,
      error: 'outcome_unknown',
    });
    const later = await ingest(door, 2);
    expect({ status: later.status, error: later.body['error'] }).toEqual({
      status: 503,
      error: 'store_closed_for_writing',
    });
    expect((await history(door, 0)).status).toBe(200);
    expect((await send(door, '/health/live')).status).toBe(200);
    await door.stop('SIGKILL');

    door = server = await startServer({ dir });
    for (const n of [1, 2, 1, 2]) await completed(door, await ingest(door, n));
    expect(await door.stop()).toBe(0);
    const log = await wholeLog(dir);
    expectWhole(log);
    expect(log.filter(({ type }) => type === 'IngestionSubmitted')).toHaveLength(3);
    proved('fsync error under the server', {
      'faults injected': 1,
      'outcomes unknown': 1,
      refused: 1,
      'stored once by a retry': 2,
      lost: 0,
    });
  },
  120_000,
);
