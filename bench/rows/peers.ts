import { join } from 'node:path';
import type { Bench, Row } from '../bench.js';
import { startProgram, type Program } from '../children.js';
import { compare, type Line } from '../measure.js';
import { installPeer, NotAvailable, startPostgres, type Postgres } from '../peer-setup.js';
import type { Ran } from '../programs/commands.js';
import type { PeerKind } from '../programs/peers.js';
import { seedTopics } from '../seed.js';

const WIDTH = 64;

interface Contender {
  kind: PeerKind;
  name: string;
  /** At once. emmett on SQLite takes one writer: with more it answers that the database is locked. */
  width: number;
  /** Of the same appends, at most: the peers are slow enough to be told apart in few. */
  count: number;
}

const CONTENDERS: readonly Contender[] = [
  { kind: 'sqlite', name: 'emmett on SQLite, one writer', width: 1, count: 200 },
  {
    kind: 'postgresql',
    name: `emmett on PostgreSQL, ${WIDTH} at once`,
    width: WIDTH,
    count: 1_000,
  },
];

/** B12: commands of the product beside the same appends with the same checks on emmett's stores. */
export const peers: Row = {
  ids: ['B12'],
  async run(bench: Bench) {
    const plan = bench.quick
      ? { rounds: 3, each: 2_000, warmUp: 4_000 }
      : { rounds: 5, each: 6_000, warmUp: 12_000 };
    const lines: Line[] = [];
    for (const contender of CONTENDERS)
      try {
        lines.push(await against(bench, contender, plan));
      } catch (error) {
        if (!(error instanceof NotAvailable)) throw error;
        lines.push({ id: 'B12', work: `compared with ${contender.name}`, why: error.message });
      }
    return lines;
  },
};

async function against(
  bench: Bench,
  contender: Contender,
  { rounds, each, warmUp }: { rounds: number; each: number; warmUp: number },
): Promise<Line> {
  const folder = await installPeer(contender.kind);
  const dir = bench.dir();
  const postgres = contender.kind === 'postgresql' ? await startPostgres() : undefined;
  try {
    await seedTopics(dir, warmUp + rounds * each, false);
    const subject = await startProgram(bench, 'commands');
    await subject.call('open', dir);
    const peer = await openedPeer(bench, contender, folder, postgres);
    const [ours, theirs]: [number[], number[]] = [[], []];
    const round = async (first: number, count: number): Promise<[number, number]> => {
      const few = Math.min(count, contender.count);
      await peer.call('seed', { first, count: few });
      const input = { first, count, width: WIDTH, met: true };
      const ran = await subject.call<Ran>('run', input);
      const same = { from: dir, after: ran.from, count: few, width: contender.width };
      return [ran.perSecond, await peer.call<number>('run', same)];
    };
    await round(0, warmUp);
    for (let i = 0; i < rounds; i++) {
      const [mine, other] = await round(warmUp + i * each, each);
      ours.push(mine);
      theirs.push(other);
    }
    for (const program of [subject, peer]) {
      await program.call('close');
      await program.end();
    }
    return compare(
      {
        id: 'B12',
        work: `durable commands in process, ${WIDTH} at once`,
        against: `the same appends with the same checks on ${contender.name}`,
        unit: '/s',
        bar: { kind: 'atLeast', ratio: 1 },
      },
      ours,
      theirs,
    );
  } finally {
    await postgres?.end();
  }
}

async function openedPeer(
  bench: Bench,
  { kind }: Contender,
  folder: string,
  postgres: Postgres | undefined,
): Promise<Program> {
  const program = await startProgram(bench, 'peers');
  const peer: Program = {
    ...program,
    call: <T>(operation: string, input?: unknown) =>
      program.call<T>(operation, input).catch((error: unknown) => {
        throw new NotAvailable(`it failed: ${String(error).split('\n')[0] ?? ''}`);
      }),
  };
  const at = postgres?.at ?? join(bench.dir(), 'emmett.sqlite');
  await peer.call('open', { kind, folder, at });
  return peer;
}
