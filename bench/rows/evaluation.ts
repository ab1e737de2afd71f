import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { decidedLedger } from '../ledgers.js';
import { compare, inTurn } from '../measure.js';

const DECISIONS = 100_000;
const CASES = 20;
/** No divisor of `DECISIONS`: every case asks about another topic, near and far. */
const STRIDE = 7_919;

/** A whole run with its durable event, beside the bare answers to its questions. */
export const runEval: Row = {
  ids: ['run_eval'],
  async run(bench: Bench) {
    const { rounds, each } = bench.quick ? { rounds: 3, each: 20 } : { rounds: 7, each: 50 };
    const program = await startProgram(bench, 'evaluation', true);
    await program.call('open', bench.dir(await decidedLedger(bench, DECISIONS)));
    const sets = Array.from({ length: (rounds + 1) * each }, (_, set) =>
      Array.from({ length: CASES }, (_, i) => ((set * CASES + i) * STRIDE) % DECISIONS),
    );
    const datasets: string[] = [];
    for (const set of sets) datasets.push(await program.call<string>('prepare', set));
    const of = <T>(items: readonly T[], round: number): T[] =>
      items.slice(round * each, (round + 1) * each);
    const measured = (round: number) => program.call<number>('run', of(datasets, round));
    const single = (round: number) => program.call<number>('single', of(sets, round));
    await measured(rounds);
    await single(rounds);
    const runs = await inTurn(rounds, measured, single);
    await program.call('close');
    await program.end();
    return [
      compare(
        {
          id: 'run_eval',
          work: `run_eval of ${CASES} cases, in process, ${DECISIONS.toLocaleString('en-US')} decisions, p50`,
          against: `the ${CASES} questions one by one, which nothing checks and nothing keeps`,
          unit: 'µs',
          bar: { kind: 'atMost', ratio: 5 },
        },
        runs.subject,
        runs.reference,
      ),
    ];
  },
};
