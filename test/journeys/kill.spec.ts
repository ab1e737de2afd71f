import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store/event-store.js';
import { openSqliteReader } from '#event-store/sqlite.js';
import { Follower } from '#projections/follower.js';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { chance } from '../support/chance.js';
import { historyOf, KillWriters } from '../support/kill-writers.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';

const CYCLES = 12;
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
const LIFE_MS = { min: 30, max: 500 };

const dir = mkdtempSync(join(tmpdir(), 'precedent-kill-'));
let server: RunningServer | undefined;
afterAll(async () => {
  await server?.stop('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Starts on what the last one left behind; nothing else touches the folder before. */
async function start(): Promise<RunningServer> {
  server = await startServer({ dir });
  for (let tries = 0; tries < 1_000; tries += 1) {
    if ((await fetch(`${server.url}/health/ready`)).status === 200) return server;
    await delay(10);
  }
  throw new Error('the server does not become ready');
}

async function wholeLog(): Promise<Map<number, RecordedEvent>> {
  const reader = openSqliteReader(dir);
  const log = new Map<number, RecordedEvent>();
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of reader.follow(0, options))
    for (const event of batch) log.set(event.position, event);
  await reader.close();
  return log;
}

const KIND = { approve: 'approved', revoke: 'revoked' } as const;
const TYPE = { approve: 'DecisionApproved', revoke: 'DecisionRevoked' } as const;

/** P1: everything that any client was ever told is in the log, where it was told. */
async function expectAcknowledged({ ingestions, reviews }: KillWriters): Promise<void> {
  const log = await wholeLog();
  const lost = [
    ...ingestions.filter(
      ({ position, job = '' }) =>
        position !== undefined && log.get(position)?.stream !== `ingestion-main-${job}`,
    ),
    ...reviews.filter(({ position, action, decision }) => {
      if (position === undefined) return false;
      const event = log.get(position);
      return event?.type !== TYPE[action] || !event.payload.includes(`"${decision}"`);
    }),
  ];
  expect(lost).toEqual([]);
}

/** What readers are shown of the reviews: each once, and where the acknowledgement said. */
async function expectShown(door: RunningServer, reviews: KillWriters['reviews']): Promise<void> {
  for (const { topic, decision, action, position } of reviews) {
    const { timeline } = await historyOf(door, topic);
    const moments = timeline.filter((m) => m.kind === KIND[action] && m.decision_id === decision);
    expect(moments).toHaveLength(1);
    if (position !== undefined) expect(moments[0]?.position).toBe(String(position));
  }
}

/** P2: no request, however often it was sent, left two traces. */
async function expectStoredOnce(writers: KillWriters): Promise<void> {
  const ONCE: Readonly<Record<string, string>> = {
    IngestionSubmitted: 'request_id',
    SourceCaptured: 'source_id',
    DecisionProposed: 'decision_id',
    DecisionApproved: 'decision_id',
    DecisionRevoked: 'decision_id',
  };
  const counts = new Map<string, number>();
  for (const { type, stream, payload } of (await wholeLog()).values()) {
    const name = type === 'IngestionCompleted' ? undefined : ONCE[type];
    if (name === undefined && type !== 'IngestionCompleted') continue;
    const data = JSON.parse(payload) as Record<string, string>;
    const key = `${type} ${name === undefined ? stream : (data[name] ?? '')}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  expect([...counts].filter(([, n]) => n !== 1)).toEqual([]);
  for (const { requestId } of writers.ingestions)
    expect(counts.get(`IngestionSubmitted ${requestId}`)).toBe(1);
}

const tables = projections.flatMap((p) => Object.keys(p.tables));

function digests(db: ReadDatabase): Record<string, string> {
  return Object.fromEntries(tables.map((table) => [table, db.digest([table])]));
}

/** P5: what all these lives built up is what one uninterrupted reading of the log builds. */
async function expectSameAsRebuilt(): Promise<void> {
  const kept = join(dir, 'kept.sqlite');
  for (const part of ['', '-wal'])
    if (existsSync(join(dir, `read.sqlite${part}`)))
      copyFileSync(join(dir, `read.sqlite${part}`), `${kept}${part}`);
  const lived = ReadDatabase.openForReading(kept);
  const rebuilt = ReadDatabase.openForWriting(join(dir, 'rebuilt.sqlite'));
  const log = openSqliteReader(dir);
  const follower = new Follower(log, rebuilt, projections);
  await follower.catchUp();
  expect(follower.statuses.filter((s) => s.parked)).toEqual([]);
  expect(digests(lived)).toEqual(digests(rebuilt));
  lived.close();
  rebuilt.close();
  await log.close();
}

describe('a server that is killed', () => {
  it(`P1 P2 P5 P7: loses nothing that it acknowledged and stores nothing twice (KILL_SEED=${SEED})`, async () => {
    const random = chance(SEED);
    const writers = new KillWriters(random);
    let door = await start();
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const [lifetime, known] = [random(), writers.reviews.length];
      const running = writers.run(door);
      await delay(LIFE_MS.min + lifetime * (LIFE_MS.max - LIFE_MS.min));
      await door.stop('SIGKILL');
      await running;
      door = await start();
      await expectAcknowledged(writers);
      await writers.settle(door);
      await expectShown(door, writers.reviews.slice(known));
    }
    await expectAcknowledged(writers);
    await expectShown(door, writers.reviews);
    expect(await door.stop()).toBe(0);
    await expectStoredOnce(writers);
    await expectSameAsRebuilt();
    proved(
      'kill -9 under the server',
      {
        'crash cycles': CYCLES,
        acknowledged: writers.acknowledged,
        retried: writers.retried,
        lost: 0,
        'tables compared': tables.length,
      },
      `KILL_SEED=${SEED}`,
    );
    expect(writers.retried).toBeGreaterThan(0);
  }, 300_000);
});
