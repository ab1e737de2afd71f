import type { Bench, Row } from '../bench.js';
import { startProgram, startServer, type Program } from '../children.js';
import type { Load, Loaded } from '../http.js';
import { decidedLedger, revisedLedger, topicsFor } from '../ledgers.js';
import { compare, inTurn, type Result } from '../measure.js';
import type { Asked } from '../programs/resolve.js';
import { ANSWERED, resolveRequest } from '../questions.js';
import { revisedTopic, topicAt } from '../seed.js';

const SMALL = 1_000;
/** No divisor of any number of topics here. */
const STRIDE = 7_919;
/** Decisions of a topic that an answer shows, the one in force among them. */
const SHOWN = 21;
const WORK = 'the decision of an exact topic, in process, p50';
const BAR = { kind: 'atMost', ratio: 1.3 } as const;

interface Plan {
  rounds: number;
  each: number;
  decisions: number;
  /** How often the much revised topic was decided. */
  times: number;
}

/** B4: what is in force costs the same in a large ledger and after a long history. */
export const heads: Row = {
  ids: ['B4'],
  async run(bench: Bench) {
    const plan: Plan = bench.quick
      ? { rounds: 3, each: 2_000, decisions: topicsFor(100_000), times: 3_334 }
      : { rounds: 7, each: 5_000, decisions: 1_000_000, times: 33_334 };
    const dirs = {
      small: await revisedLedger(bench, SMALL, [plan.times, SHOWN]),
      large: await decidedLedger(bench, plan.decisions),
    };
    const [small, large] = [await opened(bench, dirs.small), await opened(bench, dirs.large)];
    const results = [
      ...(await bySize(plan, large, small)),
      await byRevisions(plan, small, 'one with 1 decision and no history', () => topic(0, SMALL)),
      await byRevisions(plan, small, `one with ${SHOWN} decisions, as many as are shown`, () =>
        revised(SHOWN),
      ),
    ];
    for (const program of [small, large]) {
      await program.call('close');
      await program.end();
    }
    return [...results, await overMcp(bench, plan, dirs)];
  },
};

async function opened(bench: Bench, dir: string): Promise<Program> {
  const program = await startProgram(bench, 'resolve');
  await program.call('open', dir);
  return program;
}

function topic(i: number, of: number): Asked {
  const { topic: id, claim } = topicAt((i * STRIDE) % of);
  return { topic: id, scope: claim.scope };
}

function revised(times: number): Asked {
  return { topic: revisedTopic(times), scope: {} };
}

/** Asks `each` questions a round, near and far, the first ones for warming up. */
function asking(
  { each }: Plan,
  program: Program,
  about: (i: number) => Asked,
): (round: number) => Promise<number> {
  return (round) =>
    program.call(
      'run',
      Array.from({ length: each }, (_, i) => about(round * each + i)),
    );
}

/** As many topics of the large ledger, spread over all of it, as the small one has; and there each time another one. */
async function bySize(plan: Plan, large: Program, small: Program): Promise<Result[]> {
  const [few, many] = [SMALL, plan.decisions].map((n) => n.toLocaleString('en-US'));
  const reference = asking(plan, small, (i) => topic(i, SMALL));
  const results: Result[] = [];
  for (const [about, asked] of [
    [`${few} topics`, (i: number) => topic(i % SMALL, plan.decisions)],
    ['another topic each time', (i: number) => topic(i, plan.decisions)],
  ] as const) {
    const runs = await warm(plan, asking(plan, large, asked), reference);
    results.push(
      compare(
        {
          id: 'B4',
          work: `${WORK}, ${about} of ${many}`,
          against: `${few} of ${few}`,
          unit: 'µs',
          bar: BAR,
        },
        runs.subject,
        runs.reference,
      ),
    );
  }
  return results;
}

/** The same as one client meets it, who asks about another topic each time. */
async function overMcp(
  bench: Bench,
  plan: Plan,
  dirs: { small: string; large: string },
): Promise<Result> {
  const large = await startServer(bench, dirs.large, 'B4');
  const small = await startServer(bench, dirs.small, 'B4');
  const client = await startProgram(bench, 'load');
  const each = Math.ceil(plan.each / 2);
  const asking = (port: number, of: number) => async (round: number) => {
    const requests = Array.from({ length: each }, (_, i) => {
      const n = round * each + i;
      return resolveRequest((n * STRIDE) % of, n);
    });
    const load = { port, connections: 1, requests, expect: ANSWERED } satisfies Load;
    return (await client.call<Loaded>('load', load)).p50 * 1_000;
  };
  const runs = await warm(plan, asking(large.port, plan.decisions), asking(small.port, SMALL));
  for (const process of [large, small, client]) await process.end();
  const [few, many] = [SMALL, plan.decisions].map((n) => n.toLocaleString('en-US'));
  return compare(
    {
      id: 'B4',
      work: `the same over MCP, one client, another topic each time of ${many}`,
      against: `${few} of ${few}`,
      unit: 'µs',
      bar: BAR,
    },
    runs.subject,
    runs.reference,
  );
}

async function byRevisions(
  plan: Plan,
  program: Program,
  against: string,
  other: (i: number) => Asked,
): Promise<Result> {
  const subject = asking(plan, program, () => revised(plan.times));
  const runs = await warm(plan, subject, asking(plan, program, other));
  const revisions = (3 * plan.times).toLocaleString('en-US');
  return compare(
    {
      id: 'B4',
      work: `${WORK}, a topic with ${revisions} revisions`,
      against,
      unit: 'µs',
      bar: BAR,
    },
    runs.subject,
    runs.reference,
  );
}

async function warm(
  { rounds }: Plan,
  subject: (round: number) => Promise<number>,
  reference: (round: number) => Promise<number>,
) {
  await subject(rounds);
  await reference(rounds);
  return inTurn(rounds, subject, reference);
}
