import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { compare, inTurn, quantile } from '../measure.js';
import type { Ran } from '../programs/commands.js';
import { seedTopics } from '../seed.js';

const WIDTH = 64;

/** B1a: acknowledged durable commands in process. */
export const commands: Row = {
  ids: ['B1a'],
  async run(bench: Bench) {
    const { rounds, each, warmUp } = bench.quick
      ? { rounds: 3, each: 2_000, warmUp: 1_000 }
      : { rounds: 7, each: 8_000, warmUp: 4_000 };
    const dir = bench.dir();
    await seedTopics(dir, warmUp + rounds * each, false);
    const copy = bench.dir(dir);
    const subject = await startProgram(bench, 'commands', true);
    const reference = await startProgram(bench, 'appends');
    await subject.call('open', dir);
    await reference.call('open', copy);

    const details: Ran[] = [];
    const decide = async (first: number, count: number): Promise<number> => {
      const ran = await subject.call<Ran>('run', { first, count, width: WIDTH });
      details.push(ran);
      return ran.perSecond;
    };
    const append = (): Promise<number> =>
      reference.call('run', { from: dir, after: details.at(-1)?.from, width: WIDTH });
    await decide(0, warmUp);
    await append();
    const runs = await inTurn(rounds, (round) => decide(warmUp + round * each, each), append);

    for (const program of [subject, reference]) {
      await program.call('close');
      await program.end();
    }
    const ms = (of: (ran: Ran) => number): string => quantile(details.map(of), 0.5).toFixed(1);
    bench.note(
      `B1a: event-loop delay p99 ${ms((r) => r.loopDelayP99)} ms; read models caught up ` +
        `${ms((r) => r.settleMs)} ms after ${each} commands`,
    );
    return [
      compare(
        {
          id: 'B1a',
          work: `durable commands in process, ${WIDTH} at once`,
          against: 'the same appends alone',
          unit: '/s',
          bar: { kind: 'atLeast', ratio: 0.5 },
        },
        runs.subject,
        runs.reference,
      ),
    ];
  },
};
