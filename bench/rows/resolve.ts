import type { Bench, Row } from '../bench.js';
import { startProgram, startServer } from '../children.js';
import type { Load, Loaded } from '../http.js';
import { decidedLedger } from '../ledgers.js';
import { compare, inTurn } from '../measure.js';
import { ANSWERED, resolveRequest } from '../questions.js';

const WIDTH = 64;
const DECISIONS = 100_000;
/** No divisor of `DECISIONS`: every request asks about another topic, near and far. */
const STRIDE = 7_919;

/** B3: the decision in force, asked over MCP. */
export const resolveOverMcp: Row = {
  ids: ['B3'],
  async run(bench: Bench) {
    const { rounds, each, warmUp } = bench.quick
      ? { rounds: 3, each: 2_000, warmUp: 2_000 }
      : { rounds: 7, each: 6_000, warmUp: 6_000 };
    const dir = await decidedLedger(bench, DECISIONS);
    const server = await startServer(bench, dir, 'B3');
    const clients = await startProgram(bench, 'load');
    const echo = await startProgram(bench, 'bare-echo');

    const loaded = (port: number, first: number, count: number): Promise<Loaded> =>
      clients.call('load', {
        port,
        connections: WIDTH,
        requests: Array.from({ length: count }, (_, i) => question(first + i)),
        expect: ANSWERED,
      } satisfies Load);
    const { body } = await loaded(server.port, 0, warmUp);
    const reply = JSON.parse(bodyOf(body)) as Record<string, unknown>;
    const echoPort = await echo.call<number>('open', reply);
    await loaded(echoPort, 0, warmUp);
    const first = (round: number): number => warmUp + round * each;
    const runs = await inTurn(
      rounds,
      (round) => loaded(server.port, first(round), each),
      (round) => loaded(echoPort, first(round), each),
    );
    await server.end();
    await echo.end();
    await clients.end();
    const against = `a bare JSON echo of the same reply (${JSON.stringify(reply).length} bytes)`;
    return [
      compare(
        {
          id: 'B3',
          work: `resolve_decision_state over MCP, ${WIDTH} clients`,
          against,
          unit: '/s',
          bar: { kind: 'atLeast', ratio: 0.4 },
        },
        runs.subject.map((r) => r.perSecond),
        runs.reference.map((r) => r.perSecond),
      ),
      compare(
        { id: 'B3', work: 'the same, p99', against, unit: 'ms', bar: { kind: 'atMost', ratio: 5 } },
        runs.subject.map((r) => r.p99),
        runs.reference.map((r) => r.p99),
      ),
    ];
  },
};

function question(i: number): string {
  return resolveRequest((i * STRIDE) % DECISIONS, i);
}

/** The JSON in a body that came in one chunk or with its length. */
function bodyOf(body: string): string {
  return body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1);
}
