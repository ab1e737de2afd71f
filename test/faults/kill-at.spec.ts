import { afterAll, describe, expect } from '@jest/globals';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import {
  acks,
  callsOf,
  canTrace,
  cleanUp,
  folder,
  itWith,
  MEMORY,
  runWork,
  settle,
  spread,
  strace,
} from '../support/fault-kit.js';
import { proved } from '../support/proved.js';

/** Needs a creation that leaves no half-made ledger; see the report on fault tests. */
const CREATED_WHOLE = true;

const WORK = { appends: 20, size: 3_000 };
/** System calls that change a file or tell a caller, and how many values of N are tried for each. */
const SWEEP = { pwrite64: 9, fsync: 5, write: 2 };
/** Up to which N of each call a ledger is being created, by the main thread. */
const CREATION = { pwrite64: [1, 2, 3, 5, 6, 12, 20, 30], fsync: [1, 3, 4, 5, 6], unlink: [1, 2] };

/** The whole work until a thread makes its n-th `call`, then the settlement of what is left. */
async function killed(dir: string, call: string, n: number): Promise<[kill: number, acks: number]> {
  const { lines, signal } = runWork(strace('/dev/null', call, `signal=KILL:when=${n}`), dir, WORK);
  await settle(dir, WORK, lines);
  return [signal === 'SIGKILL' ? 1 : 0, acks(lines).length];
}

function report(what: string, kills: number, acknowledged: number): void {
  proved(what, { 'crash cycles': kills, acknowledged, lost: 0 });
}

describe('kill -9 at the Nth write system call', () => {
  afterAll(cleanUp);

  itWith(canTrace, 'strace')(
    'P1 P6 P7: nothing acknowledged is lost, and a retry settles the rest',
    async () => {
      const counted = join(folder(), 'strace.log');
      expect(runWork(strace(counted, Object.keys(SWEEP).join()), folder(MEMORY), WORK).code).toBe(
        0,
      );
      let [kills, acknowledged] = [0, 0];
      for (const [call, tries] of Object.entries(SWEEP)) {
        const max = callsOf(counted, call);
        for (const n of spread(Math.ceil(max / 6), max, tries)) {
          const [kill, told] = await killed(folder(MEMORY), call, n);
          kills += kill;
          acknowledged += told;
        }
      }
      report('kill at the Nth write', kills, acknowledged);
      // How appends share a commit varies, so that the last values of N may not be met.
      expect(kills).toBeGreaterThan(8);
      expect(acknowledged).toBeGreaterThan(0);
    },
    180_000,
  );

  itWith(canTrace && CREATED_WHOLE, 'strace, and a creation that leaves no half-made ledger')(
    'P6: a ledger that died while it was created opens without repair',
    async () => {
      let kills = 0;
      for (const [call, ns] of Object.entries(CREATION))
        for (const n of ns) kills += (await killed(folder(MEMORY), call, n))[0];
      report('kill while the ledger is created', kills, 0);
      expect(kills).toBeGreaterThan(8);
    },
    180_000,
  );

  itWith(canTrace, 'strace')(
    'P1 P6: killed again while it recovers from the last kill, a ledger loses nothing',
    async () => {
      const first = folder(MEMORY);
      const { lines } = runWork(strace('/dev/null', 'fsync', 'signal=KILL:when=18'), first, WORK);
      let [kills, told] = [0, 0];
      for (const [call, ns] of Object.entries({ pwrite64: [1, 2, 7, 20, 60], fsync: [1, 2, 3] }))
        for (const n of ns) {
          const dir = folder(MEMORY);
          cpSync(first, dir, { recursive: true });
          const again = runWork(strace('/dev/null', call, `signal=KILL:when=${n}`), dir, WORK);
          kills += again.signal === 'SIGKILL' ? 1 : 0;
          told += acks(lines).length + acks(again.lines).length;
          await settle(dir, WORK, [...lines, ...again.lines]);
        }
      report('kill during recovery', kills, told);
      expect(acks(lines).length).toBeGreaterThan(0);
      expect(kills).toBeGreaterThan(4);
    },
    180_000,
  );
});
