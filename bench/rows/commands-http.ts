import type { Bench, Row } from '../bench.js';
import { startProgram, startServer } from '../children.js';
import { OWNER_KEY } from '../files.js';
import { requestText, type Load, type Loaded } from '../http.js';
import { compare, inTurn, type Result } from '../measure.js';
import { reviewAt, seedTopics, STALE } from '../seed.js';

const WIDTH = 64;

interface Plan {
  connections: number;
  rounds: number;
  each: number;
  warmUp: number;
}

/** B1b: 64 clients at once. B2: one command after the other. Over HTTP both. */
export const commandsOverHttp: Row = {
  ids: ['B1b', 'B2'],
  async run(bench: Bench, ids: ReadonlySet<string>) {
    const results: Result[] = [];
    if (ids.has('B1b')) {
      const plan = bench.quick
        ? { connections: WIDTH, rounds: 3, each: 2_000, warmUp: 6_000 }
        : { connections: WIDTH, rounds: 7, each: 5_000, warmUp: 12_000 };
      const { subject, reference } = await measured(bench, 'B1b', plan);
      results.push(
        compare(
          {
            id: 'B1b',
            work: `durable commands over HTTP, ${WIDTH} clients`,
            against: 'a bare handler that makes the same append',
            unit: '/s',
            bar: { kind: 'atLeast', ratio: 0.4 },
          },
          subject.map((r) => r.perSecond),
          reference.map((r) => r.perSecond),
        ),
      );
    }
    if (ids.has('B2')) {
      const plan = bench.quick
        ? { connections: 1, rounds: 3, each: 200, warmUp: 300 }
        : { connections: 1, rounds: 7, each: 500, warmUp: 1_000 };
      const { subject, reference } = await measured(bench, 'B2', plan);
      results.push(
        compare(
          {
            id: 'B2',
            work: 'one durable command after the other over HTTP, p50',
            against: 'the same bare handler',
            unit: 'ms',
            bar: { kind: 'atMost', ratio: 1.6 },
          },
          subject.map((r) => r.p50),
          reference.map((r) => r.p50),
        ),
      );
    }
    return results;
  },
};

async function measured(bench: Bench, name: string, plan: Plan) {
  const { connections, rounds, each, warmUp } = plan;
  const dir = bench.dir();
  await seedTopics(dir, warmUp + rounds * each, false);
  const copy = bench.dir(dir);
  const bare = await startProgram(bench, 'bare-append');
  const barePort = await bare.call<number>('open', copy);
  const server = await startServer(bench, dir, name);
  const clients = await startProgram(bench, 'load');

  const reviews = (first: number, count: number, hash?: string): string[] =>
    Array.from({ length: count }, (_, i) => approval(first + i, hash));
  const loaded = (port: number, first: number, count: number): Promise<Loaded> =>
    clients.call('load', {
      port,
      connections,
      requests: reviews(first, count),
      expect: '"state":"approved"',
    } satisfies Load);
  /** A stale review is refused, but the server has met the stream then, as after an ingestion. */
  const meet = (first: number, count: number): Promise<Loaded> =>
    clients.call('load', {
      port: server.port,
      connections: WIDTH,
      requests: reviews(first, count, STALE),
      expect: 'stale_revision',
      status: 409,
    } satisfies Load);
  const first = (round: number): number => warmUp + round * each;
  await meet(0, warmUp);
  await loaded(server.port, 0, warmUp);
  await loaded(barePort, 0, warmUp);
  const runs = await inTurn(
    rounds,
    async (round) => {
      await meet(first(round), each);
      return loaded(server.port, first(round), each);
    },
    (round) => loaded(barePort, first(round), each),
  );
  await server.end();
  await bare.call('close');
  await bare.end();
  await clients.end();
  return runs;
}

function approval(n: number, content_hash?: string): string {
  const { decision_id, ...said } = reviewAt(n);
  const body = { ...said, ...(content_hash === undefined ? {} : { content_hash }) };
  const path = `/v1/decisions/${encodeURIComponent(decision_id)}/reviews`;
  return requestText(path, { authorization: `Bearer ${OWNER_KEY}` }, body);
}
