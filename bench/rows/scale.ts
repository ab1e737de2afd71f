import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Bench, Row } from '../bench.js';
import { startProgram, startServer, type Server } from '../children.js';
import type { Load } from '../http.js';
import { decidedLedger, topicsFor } from '../ledgers.js';
import { compare, inTurn, type Line } from '../measure.js';
import { ANSWERED, resolveRequest } from '../questions.js';

const STRIDE = 7_919;
const SMALL_EVENTS = 1_000;

/** B5, B7, B8: what a long log costs when read models are rebuilt, at a start, and in memory. */
export const scale: Row = {
  ids: ['B5', 'B7', 'B8'],
  async run(bench: Bench, ids: ReadonlySet<string>) {
    const events = bench.quick ? 100_000 : 1_000_000;
    const dir = await decidedLedger(bench, topicsFor(events));
    const at = `${events.toLocaleString('en-US')} events`;
    const lines: Line[] = [];
    if (ids.has('B5')) lines.push(...(await rebuilt(bench, dir, at)));
    if (ids.has('B7')) lines.push(...(await started(bench, dir, at)));
    if (ids.has('B8')) lines.push(...(await resident(bench, dir, at, topicsFor(events))));
    return lines;
  },
};

async function rebuilt(bench: Bench, dir: string, at: string): Promise<Line[]> {
  const program = await startProgram(bench, 'rebuild', true);
  const runs = await inTurn<number>(
    3,
    () => program.call('rebuild', dir),
    () => program.call('parse', dir),
  );
  await program.end();
  return [
    compare(
      {
        id: 'B5',
        work: `rebuild of all read models from ${at}`,
        against: 'reading and JSON-parsing the same log',
        unit: '/s',
        bar: { kind: 'atLeast', ratio: 0.25 },
      },
      runs.subject,
      runs.reference,
    ),
  ];
}

interface Start {
  ms: number;
  /** That the process read from files until it was ready, the program itself included. */
  megabytes: number | undefined;
}

async function started(bench: Bench, dir: string, at: string): Promise<Line[]> {
  const empty = await decidedLedger(bench, 0);
  const start = async (ledger: string): Promise<Start> => {
    const server = await startServer(bench, ledger, 'B7');
    const megabytes = readMegabytes(server.pid);
    await server.end();
    return { ms: server.startMs, megabytes };
  };
  await start(dir);
  await start(empty);
  const runs = await inTurn(
    bench.quick ? 3 : 7,
    () => start(dir),
    () => start(empty),
  );
  const line = { id: 'B7', against: 'the same with an empty ledger', bar: atMost(1.5) };
  const read = `read from files until then`;
  const [many, few] = [runs.subject, runs.reference].map((all) =>
    all.flatMap(({ megabytes }) => megabytes ?? []),
  );
  return [
    compare(
      { ...line, work: `start-up with ${at} and warm read models`, unit: 'ms' },
      runs.subject.map((r) => r.ms),
      runs.reference.map((r) => r.ms),
    ),
    many && few && many.length > 0
      ? compare({ ...line, work: `the same, ${read}`, unit: 'MB' }, many, few)
      : { id: 'B7', work: read, why: 'this system does not tell it' },
  ];
}

function readMegabytes(pid: number): number | undefined {
  const path = `/proc/${pid}/io`;
  if (!existsSync(path)) return undefined;
  const read = /^rchar: (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
  return read === undefined ? undefined : Number(read) / 1e6;
}

async function resident(bench: Bench, dir: string, at: string, topics: number): Promise<Line[]> {
  const fewTopics = topicsFor(SMALL_EVENTS);
  const few = await decidedLedger(bench, fewTopics);
  const each = bench.quick ? 4_000 : 20_000;
  const clients = await startProgram(bench, 'load');
  const used = async (ledger: string, of: number): Promise<number> => {
    const server = await startServer(bench, ledger, 'B8');
    const requests = Array.from({ length: each }, (_, i) => resolveRequest((i * STRIDE) % of, i));
    const load = { port: server.port, connections: 64, requests, expect: ANSWERED } satisfies Load;
    await clients.call('load', load);
    const megabytes = residentMegabytes(server);
    await server.end();
    return megabytes;
  };
  const runs = await inTurn(
    3,
    () => used(dir, topics),
    () => used(few, fewTopics),
  );
  await clients.end();
  return [
    compare(
      {
        id: 'B8',
        work: `resident memory with ${at}, after ${each.toLocaleString('en-US')} questions`,
        against: `the same with ${SMALL_EVENTS.toLocaleString('en-US')} events`,
        unit: 'MB',
        bar: atMost(1.5),
      },
      runs.subject,
      runs.reference,
    ),
  ];
}

function residentMegabytes({ pid }: Server): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) / 1_000;
}

function atMost(ratio: number): { kind: 'atMost'; ratio: number } {
  return { kind: 'atMost', ratio };
}
