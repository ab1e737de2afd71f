import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { decidedLedger, topicsFor } from '../ledgers.js';
import { compare, inTurn } from '../measure.js';

/** B6: what it takes to prove a long log. */
export const verify: Row = {
  ids: ['B6'],
  async run(bench: Bench) {
    const events = bench.quick ? 100_000 : 1_000_000;
    const topics = topicsFor(events);
    const dir = bench.dir(await decidedLedger(bench, topics));
    const program = await startProgram(bench, 'verify', true);
    await program.call('texts', { dir, count: Math.ceil(topics / 10) });
    const runs = await inTurn<number>(
      3,
      () => program.call('verify', dir),
      () => program.call('hashes', dir),
    );
    await program.end();
    return [
      compare(
        {
          id: 'B6',
          work: `verify of ${events.toLocaleString('en-US')} events: chain, trees, checkpoints; read models left out`,
          against:
            'SHA-256 over the same bytes, a call for each header and payload, reading left out',
          unit: 'ms',
          bar: { kind: 'atMost', ratio: 3 },
        },
        runs.subject,
        runs.reference,
      ),
    ];
  },
};
