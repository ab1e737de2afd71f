import { afterAll, afterEach, expect } from '@jest/globals';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, expectWhole, folder, itWith } from '../support/fault-kit.js';
import { completed, history, ingest, wholeLog } from '../support/fault-server.js';
import { startServer, type RunningServer } from '../support/server.js';
import { proved } from '../support/proved.js';

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
const dir = folder();
const clock = join(dir, 'clock');

let server: RunningServer | undefined;
afterEach(() => server?.stop('SIGKILL'));
afterAll(cleanUp);

/** Takes effect at once: the library reads the file at every look at the clock. */
function setClock(offset: string): void {
  writeFileSync(clock, `${offset}\n`);
}

async function start(): Promise<RunningServer> {
  const env = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    // Timers go on: an operator who sets the clock does not stop them either.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  return (server = await startServer({ dir: join(dir, 'data'), env }));
}

itWith(library !== undefined, 'libfaketime')(
  'B22 P6: a clock set back while the server runs or between runs never moves recorded time or order back',
  async () => {
    setClock('+0');
    let door = await start();
    const accepted = [await completed(door, await ingest(door, 0))];
    const offsets = ['-400d', '+0', '+5h', '-2h', '-400d'];
    for (const [i, offset] of offsets.entries()) {
      setClock(offset);
      if (i === 3) {
        expect(await door.stop()).toBe(0);
        door = await start();
      }
      accepted.push(await completed(door, await ingest(door, accepted.length)));
    }
    for (const n of accepted.keys()) {
      const { status, body } = await history(door, n);
      expect(status).toBe(200);
      const order = (body['timeline'] as { position: string }[]).map((m) => Number(m.position));
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    expect(await door.stop()).toBe(0);
    const log = await wholeLog(join(dir, 'data'));
    expectWhole(log);
    const submitted = log.filter(({ type }) => type === 'IngestionSubmitted');
    expect(submitted.map(({ payload }) => /fault-\d+/.exec(payload)?.[0])).toEqual(
      accepted.map((_, n) => `fault-${n}`),
    );
    // The faked clock was seen at all: five hours ahead, and then kept, since it may not go back.
    const [first = '', last = ''] = [submitted[0]?.recordedAt, submitted.at(-1)?.recordedAt];
    expect(Date.parse(last) - Date.parse(first)).toBeGreaterThan(4.9 * 3_600_000);
    proved(
      'clock set back and forth under the server',
      {
        'faults injected': offsets.length,
        acknowledged: accepted.length,
        lost: 0,
        'events compared': log.length,
      },
      'recorded time never decreases',
    );
  },
  120_000,
);
