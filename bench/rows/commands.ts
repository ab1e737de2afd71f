import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { compare, inTurn, quantile, type Result } from '../measure.js';
import type { Ran } from '../programs/commands.js';
import { seedTopics } from '../seed.js';

const WIDTH = 64;

/** B1a: acknowledged durable commands in process; on streams that the process has met lately, and on such that it has not. */
export const commands: Row = {
  ids: ['B1a'],
  async run(bench: Bench) {
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
    const append = (): Promise<Pick<Ran, 'perSecond' | 'cpuUs'>> =>
      reference.call('run', { from: dir, after: from, width: WIDTH });
    await decide(warmUp, true);
    await append();

    const results: Result[] = [];
    for (const met of [true, false]) {
      const runs = await inTurn<Pick<Ran, 'perSecond' | 'cpuUs'>>(
        rounds,
        () => decide(each, met),
        append,
      );
      results.push(
        compare(
          {
            id: 'B1a',
            work: `durable commands in process, ${WIDTH} at once${met ? '' : ', streams not in memory'}`,
            against: 'the same appends alone',
            unit: '/s',
            bar: { kind: 'atLeast', ratio: 0.5 },
          },
          runs.subject.map((r) => r.perSecond),
          runs.reference.map((r) => r.perSecond),
        ),
      );
      bench.note(remarks(met, runs.subject as Ran[], runs.reference));
    }
    for (const program of [subject, reference]) {
      await program.call('close');
      await program.end();
    }
    return results;
  },
};

function remarks(met: boolean, subject: Ran[], reference: Pick<Ran, 'cpuUs'>[]): string {
  const middle = <T>(runs: readonly T[], of: (run: T) => number): string =>
    quantile(runs.map(of), 0.5).toFixed(1);
  return (
    `B1a${met ? '' : ', streams not in memory'}: event-loop delay p99 ${middle(subject, (r) => r.loopDelayP99)} ms; ` +
    `main thread ${middle(subject, (r) => r.cpuUs)} µs a command, ${middle(reference, (r) => r.cpuUs)} µs alone; ` +
    `read models caught up ${middle(subject, (r) => r.settleMs)} ms after the last`
  );
}
