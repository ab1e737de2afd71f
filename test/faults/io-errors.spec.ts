import { afterAll, describe, expect } from '@jest/globals';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventsOf } from '../support/fault-appends.js';
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
  type Line,
} from '../support/fault-kit.js';
import { proved } from '../support/proved.js';

const WORK = { appends: 20, size: 3_000 };

/** What may be answered to a write that met the fault: ENOSPC stores nothing, an error of the disk leaves it open. */
const ANSWERS = {
  'pwrite64 ENOSPC': ['storage_full'],
  'pwrite64 EIO': ['storage_error', 'unknown', 'store_closed_for_writing'],
  'fsync EIO': ['unknown', 'store_closed_for_writing'],
  'fsync ENOSPC': ['unknown', 'store_closed_for_writing'],
} as const;
type Fault = keyof typeof ANSWERS;

class Tally {
  faults = 0;
  acknowledged = 0;
  unopened = 0;
  readonly answers = new Map<string, number>();

  report(what: string): void {
    const answers = [...this.answers].map(([name, n]) => `${name} ${n}`).join(', ');
    proved(
      what,
      {
        'faults injected': this.faults,
        'refused to open': this.unopened,
        acknowledged: this.acknowledged,
        lost: 0,
      },
      `answered ${answers}`,
    );
  }
}

/** One life in which the n-th such call fails, checked against what it could read; then the settlement. */
async function oneFault(
  dir: string,
  [fault, n]: readonly [Fault, number],
  tally: Tally,
  before: readonly Line[] = [],
): Promise<void> {
  const log = join(folder(), 'strace.log');
  const [call = '', error = ''] = fault.split(' ');
  const { lines, code } = runWork(strace(log, call, `error=${error}:when=${n}`), dir, WORK);
  if (readFileSync(log, 'utf8').includes('(INJECTED)')) tally.faults += 1;
  tally.acknowledged += acks(lines).length;
  if (lines.some((line) => line.kind === 'opened')) {
    expect(code).toBe(0);
    expectAnswers(lines, fault, tally);
    if (before.length === 0) expectRead(lines);
  } else tally.unopened += 1;
  await settle(dir, WORK, [...before, ...lines]);
}

function expectAnswers(lines: readonly Line[], fault: Fault, tally: Tally): void {
  for (const line of lines) {
    if (line.kind !== 'no') continue;
    expect(ANSWERS[fault]).toContain(line.error);
    tally.answers.set(line.error, (tally.answers.get(line.error) ?? 0) + 1);
  }
  // A refusal says that nothing was stored: the same process then stores it for the first time.
  for (const ack of acks(lines)) {
    const refused = lines.some(
      (line) => line.kind === 'no' && line.stream === ack.stream && line.n === ack.n,
    );
    if (refused) expect(ack.replayed).toBe(false);
  }
}

/** Reads go on after the fault, and show all that was acknowledged and nothing that was refused. */
function expectRead(lines: readonly Line[]): void {
  const events = lines.find((line) => line.kind === 'read')?.events ?? -1;
  const size = (line: { stream: string; n: number }): number =>
    eventsOf(WORK, line.stream, line.n).length;
  const sum = (list: readonly { stream: string; n: number }[]): number =>
    list.reduce((all, line) => all + size(line), 0);
  const open = lines.filter((line) => line.kind === 'no' && line.error === 'unknown');
  expect(events).toBeGreaterThanOrEqual(sum(acks(lines)));
  expect(events).toBeLessThanOrEqual(
    sum(acks(lines)) + sum(open as { stream: string; n: number }[]),
  );
}

describe('the disk fails at the Nth write', () => {
  afterAll(cleanUp);

  itWith(canTrace, 'strace')(
    'P6 P7 B05: each write is acknowledged and there, refused and not there, or unknown and settled by a retry',
    async () => {
      const counted = join(folder(), 'strace.log');
      expect(runWork(strace(counted, 'pwrite64,fsync'), folder(MEMORY), WORK).code).toBe(0);
      const tally = new Tally();
      for (const fault of Object.keys(ANSWERS) as Fault[]) {
        const [call = ''] = fault.split(' ');
        const max = callsOf(counted, call);
        for (const n of [2, ...spread(Math.ceil(max / 4), Math.floor(max * 0.8), 4)])
          await oneFault(folder(MEMORY), [fault, n], tally);
      }
      tally.report('EIO and ENOSPC at the Nth write');
      expect(tally.faults).toBeGreaterThan(14);
      expect(tally.answers.get('storage_full')).toBeGreaterThan(0);
      expect(tally.answers.get('unknown')).toBeGreaterThan(0);
    },
    180_000,
  );

  itWith(canTrace, 'strace')(
    'P1 P6: a fault while a killed ledger recovers loses nothing that was acknowledged',
    async () => {
      const first = folder(MEMORY);
      const { lines } = runWork(strace('/dev/null', 'fsync', 'signal=KILL:when=18'), first, WORK);
      expect(acks(lines).length).toBeGreaterThan(0);
      const tally = new Tally();
      const faults = { 'pwrite64 EIO': [1, 9], 'pwrite64 ENOSPC': [2, 20], 'fsync EIO': [1, 2, 3] };
      for (const [fault, ns] of Object.entries(faults))
        for (const n of ns) {
          const dir = folder(MEMORY);
          cpSync(first, dir, { recursive: true });
          await oneFault(dir, [fault as Fault, n], tally, lines);
        }
      tally.report('EIO and ENOSPC during recovery');
      expect(tally.faults).toBeGreaterThan(5);
    },
    180_000,
  );
});
