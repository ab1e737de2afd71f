import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { compare, inTurn, quantile, type Result } from '../measure.js';
import type { Ran } from '../programs/commands.js';
import { seedTopics } from '../seed.js';

const WIDTH = 64;
const IDLE_MS = 1_000;

type Rate = Pick<Ran, 'perSecond' | 'cpuUs' | 'allCpuUs'>;

/**
 * B1a: acknowledged durable commands in process; on streams that the process has met lately, and on such that it has not.
 * B9: what the event loop is held up meanwhile.
 */
export const commands: Row = {
  ids: ['B1a', 'B9'],
  async run(bench: Bench, ids: ReadonlySet<string>) {
    const { rounds, each, warmUp } = bench.quick
      ? { rounds: 3, each: 2_000, warmUp: 6_000 }
      : { rounds: 5, each: 6_000, warmUp: 12_000 };
    const dir = bench.dir();
    await seedTopics(dir, warmUp + 2 * rounds * each, false);
    const copy = bench.dir(dir);
    const subject = await startProgram(bench, 'commands', true);
    const reference = await startProgram(bench, 'appends');
    await subject.call('open', dir);
    await reference.call('open', copy);

    let [next, from] = [0, 0];
    const decide = async (count: number, met: boolean): Promise<Ran> => {
      const ran = await subject.call<Ran>('run', { first: next, count, width: WIDTH, met });
      next += count;
      ({ from } = ran);
      return ran;
    };
    const append = (): Promise<Rate> =>
      reference.call('run', { from: dir, after: from, width: WIDTH });
    await decide(warmUp, true);
    await append();

    const results: Result[] = [];
    const idle: number[] = [];
    for (const met of [true, false]) {
      const runs = await inTurn<Rate>(
        rounds,
        async () => {
          if (met) idle.push(await subject.call<number>('idle', IDLE_MS));
          return decide(each, met);
        },
        append,
      );
      const ran = runs.subject as Ran[];
      results.push(throughput(met, ran, runs.reference));
      if (met) results.push(loopDelay(ran, idle));
      bench.note(remarks(met, ran, runs.reference));
    }
    for (const program of [subject, reference]) {
      await program.call('close');
      await program.end();
    }
    return results.filter((result) => ids.has(result.id));
  },
};

function throughput(met: boolean, subject: Ran[], reference: Rate[]): Result {
  return compare(
    {
      id: 'B1a',
      work: `durable commands in process, ${WIDTH} at once${met ? '' : ', streams not in memory'}`,
      against: 'the same appends alone',
      unit: '/s',
      bar: { kind: 'atLeast', ratio: 0.5 },
    },
    subject.map((r) => r.perSecond),
    reference.map((r) => r.perSecond),
  );
}

function loopDelay(subject: Ran[], idle: number[]): Result {
  return compare(
    {
      id: 'B9',
      work: 'event-loop delay while B1a runs, p99',
      against: 'the same process when idle',
      unit: 'ms',
      bar: { kind: 'atMost', value: 20 },
    },
    subject.map((r) => r.loopDelayP99),
    idle,
  );
}

function remarks(met: boolean, subject: Ran[], reference: Rate[]): string {
  const middle = <T>(runs: readonly T[], of: (run: T) => number): string =>
    quantile(runs.map(of), 0.5).toFixed(1);
  return (
    `B1a${met ? '' : ', streams not in memory'}: ` +
    `main thread ${middle(subject, (r) => r.cpuUs)} µs a command, ${middle(reference, (r) => r.cpuUs)} µs alone; ` +
    `all threads ${middle(subject, (r) => r.allCpuUs)} µs with the read models, ${middle(reference, (r) => r.allCpuUs)} µs alone; ` +
    `event-loop delay p99 ${middle(subject, (r) => r.loopDelayP99)} ms; ` +
    `read models caught up ${middle(subject, (r) => r.settleMs)} ms after the last`
  );
}
