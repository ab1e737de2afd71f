import { afterAll, afterEach, describe, expect } from '@jest/globals';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  canMount,
  cleanUp,
  expectWhole,
  folder,
  itWith,
  mounted,
  unmount,
} from '../support/fault-kit.js';
import {
  completed,
  history,
  ingest,
  send,
  until,
  wholeLog,
  type Reply,
} from '../support/fault-server.js';
import { startServer, type RunningServer } from '../support/server.js';
import { proved } from '../support/proved.js';

const ROUNDS = 4;
/** Needs the follower and the reactor to wait for room instead of giving up; see the report on fault tests. */
const WAITS_FOR_ROOM = true;

let server: RunningServer | undefined;
let dir: string;

async function onSmallDisk(): Promise<RunningServer> {
  dir = folder();
  mounted(dir, '-t', 'tmpfs', '-o', 'size=40m', 'tmpfs');
  return (server = await startServer({ dir }));
}

afterEach(async () => {
  await server?.stop('SIGKILL');
  unmount(dir);
});
afterAll(cleanUp);

/** Takes all the room but `left` bytes. */
function fill(left = 0): void {
  const { bavail, bsize } = statfsSync(dir);
  try {
    writeFileSync(join(dir, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - left)));
  } catch (error) {
    // The server took some of it meanwhile: full is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function free(): void {
  rmSync(join(dir, 'ballast'));
}

function expectStorageFull({ status, type, body }: Reply): void {
  expect({ status, type: type?.split(';')[0], error: body['error'] }).toEqual({
    status: 503,
    type: 'application/problem+json',
    error: 'storage_full',
  });
}

/** Every ingestion that was accepted has its source, its decision and its approval in the log, once. */
async function expectStored(accepted: number): Promise<void> {
  expect(await server?.stop()).toBe(0);
  const log = await wholeLog(dir);
  expectWhole(log);
  for (const type of ['IngestionSubmitted', 'DecisionApproved'])
    expect(log.filter((event) => event.type === type)).toHaveLength(accepted);
}

describe('a server whose disk is full', () => {
  itWith(canMount, 'root and mount (tmpfs)')(
    'P6: writes are refused as storage_full, reads go on, and once there is room writes work without a restart',
    async () => {
      const door = await onSmallDisk();
      let [accepted, refused] = [0, 0];
      for (let round = 0; round < ROUNDS; round++) {
        await completed(door, await ingest(door, accepted++));
        await until(() => send(door, '/health/ready'), settled);
        fill();
        for (const n of [accepted, accepted + 1, accepted]) {
          expectStorageFull(await ingest(door, n));
          refused++;
        }
        for (let n = 0; n < accepted; n++) expect((await history(door, n)).status).toBe(200);
        expect((await send(door, '/health/live')).status).toBe(200);
        free();
        const retried = await ingest(door, accepted++);
        expect(retried.status).toBe(202);
        await completed(door, retried);
      }
      await expectStored(accepted);
      proved('disk full under the server', {
        'faults injected': ROUNDS,
        refused,
        acknowledged: accepted,
        lost: 0,
      });
    },
    120_000,
  );

  itWith(canMount && WAITS_FOR_ROOM, 'read models that wait for room on a full disk')(
    'P6: a disk that fills up under read models and reactions stops them only until there is room',
    async () => {
      const door = await onSmallDisk();
      const accepted: Reply[] = [];
      let sent = 0;
      for (const left of [100_000, 140_000, 180_000, 240_000, 320_000]) {
        fill(left);
        const burst = await Promise.all(Array.from({ length: 40 }, () => ingest(door, sent++)));
        for (const { status, body } of burst.filter((reply) => reply.status !== 202)) {
          expect(status).toBe(503);
          expect(['storage_full', 'projection_lag']).toContain(body['error']);
        }
        accepted.push(...burst.filter((reply) => reply.status === 202));
        free();
        await until(() => send(door, '/health/ready'), settled);
        const next = await until(
          () => ingest(door, sent),
          ({ status }) => status === 202,
        );
        sent += 1;
        accepted.push(next);
      }
      for (const job of accepted) await completed(door, job);
      await expectStored(accepted.length);
      proved('disk full under the read models', {
        'faults injected': 5,
        acknowledged: accepted.length,
        lost: 0,
      });
    },
    180_000,
  );
});

/** Ready, and every read model has seen the whole log. */
function settled({ status, body }: Reply): boolean {
  const models = (body['read_models'] ?? []) as { lag: number }[];
  return status === 200 && models.every(({ lag }) => lag === 0);
}
