import type { Bench, Row } from '../bench.js';
import { startProgram } from '../children.js';
import { decidedLedger } from '../ledgers.js';
import { compare, inTurn, type Line } from '../measure.js';
import type { Asked } from '../programs/search.js';

/** Words that a seventh to all of the claims have. */
const SUBJECTS = ['retention', 'encryption', 'hosting', 'pricing', 'support', 'branching'];
const OBJECTS = ['invoices', 'backups', 'logs', 'contracts', 'releases', 'tickets', 'profiles'];

/** The bar is set for this size; below it FTS5 is only not to be slower than the product. */
const BAR_AT = 1_000_000;

/** B3b: a question that names no topic. */
export const search: Row = {
  ids: ['B3b'],
  async run(bench: Bench) {
    const sizes = bench.quick ? [100_000] : [100_000, 1_000_000];
    const lines: Line[] = [];
    for (const size of sizes) lines.push(...(await searched(bench, size)));
    return lines;
  },
};

async function searched(bench: Bench, size: number): Promise<Line[]> {
  const dir = bench.dir(await decidedLedger(bench, size));
  const program = await startProgram(bench, 'search', true);
  const made = await program.call<{ seconds: number; megabytes: number }>('open', dir);
  bench.note(
    `B3b: ${size} decisions indexed in ${made.seconds.toFixed(1)} s, ${made.megabytes.toFixed(0)} MB more resident`,
  );
  await program.call('index', dir);
  const [ours, plain] = bench.quick ? [84, 42] : [210, 42];
  await program.call('ask', questions(0, 42));
  await program.call('match', questions(0, 7));
  const runs = await inTurn<Asked>(
    bench.quick ? 3 : 5,
    (round) => program.call('ask', questions(round * ours, ours)),
    (round) => program.call('match', questions(round * plain, plain)),
  );
  await program.call('close');
  await program.end();
  const at = `${size.toLocaleString('en-US')} decisions`;
  const against = 'the same words through FTS5 bm25(), unpruned';
  const bar = { kind: 'atMost', ratio: size >= BAR_AT ? 0.1 : 1 } as const;
  const line = { id: 'B3b', against, unit: 'ms', bar };
  const of = (which: keyof Asked) =>
    [runs.subject.map((r) => r[which]), runs.reference.map((r) => r[which])] as const;
  return [
    compare({ ...line, work: `free-text question, ${at}, p50` }, ...of('p50')),
    compare({ ...line, work: 'the same, p99' }, ...of('p99')),
    compare(
      {
        ...line,
        work: 'the same, event-loop delay p99',
        against: 'FTS5 holding its thread',
        bar: { kind: 'atMost', value: 20 },
      },
      ...of('loopDelayP99'),
    ),
  ];
}

function questions(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const n = first + i;
    return `${SUBJECTS[n % SUBJECTS.length] ?? ''} ${OBJECTS[n % OBJECTS.length] ?? ''} reviewed`;
  });
}
