import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { compare, inTurn } from '../measure.js';

/** No divisor of the number of events: proofs for events near and far. */
const STRIDE = 7_919;

/** Inclusion proofs from the read model of the tree, with the way from a position to its leaf. */
export const proofs: Row = {
  ids: ['B6p'],
  async run(bench: Bench) {
    const { events, rounds, each } = bench.quick
      ? { events: 100_000, rounds: 3, each: 500 }
      : { events: 1_000_000, rounds: 7, each: 2_000 };
    const program = await startProgram(bench, 'proofs', true);
    const dir = bench.dir();
    const growth = await program.call<number>('grow', { dir, events });
    bench.note(`B6p: the tree of ${events} events grew by ${growth.toFixed(1)} µs an event`);
    await program.call('open', dir);
    const positions = (round: number): number[] =>
      Array.from({ length: each }, (_, i) => 1 + (((round * each + i) * STRIDE) % events));
    await program.call('prove', positions(rounds));
    await program.call('proveInMemory', positions(rounds));
    const runs = await inTurn(
      rounds,
      (round) => program.call<number>('prove', positions(round)),
      (round) => program.call<number>('proveInMemory', positions(round)),
    );
    await program.call('close');
    await program.end();
    return [
      compare(
        {
          id: 'B6p',
          work: `inclusion proof of ${events.toLocaleString('en-US')} events, from the read model, p50`,
          against: 'the same from a tree whose every node is in memory',
          unit: 'µs',
          bar: { kind: 'atMost', value: 500 },
        },
        runs.subject,
        runs.reference,
      ),
    ];
  },
};
