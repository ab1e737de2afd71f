import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restore } from '#event-store/backup.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { openEventStoreDb } from '#event-store/eventstoredb.js';
import { LedgerDamage } from '#event-store/ledger-check.js';
import { openSqliteReader, openSqliteStore } from '#event-store/sqlite.js';
import { Refusal } from '#kernel/refusal.js';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { chance } from '../support/chance.js';
import { precedent } from '../support/cli.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { historyOf, KillWriters } from '../support/kill-writers.js';
import { proved } from '../support/proved.js';
import { plainEnvironment, startServer, type RunningServer } from '../support/server.js';

const BACKUPS = 4;
const FLIPS = 40;
const ZONES = ['America/Los_Angeles', 'UTC', 'Pacific/Kiritimati'];
const SEED = Number(process.env['BACKUP_SEED'] ?? Date.now() % 1_000_000);

const random = chance(SEED);
const scratch = mkdtempSync(join(tmpdir(), 'precedent-backup-'));
const data = join(scratch, 'data');
const last = join(scratch, 'last.precedent');
const copy = join(scratch, 'copy');
const running = new Set<RunningServer>();
let server: RunningServer;
let writers: KillWriters;
const numbers: Record<string, number> = {};

async function start(dir: string): Promise<RunningServer> {
  // Copies are compared with the ledger: nothing is appended meanwhile but by the writers.
  const started = await startServer({ dir, env: { PRECEDENT_CHECKPOINT_SECONDS: '0' } });
  running.add(started);
  for (let tries = 0; tries < 2_000; tries += 1) {
    if ((await fetch(`${started.url}/health/ready`)).status === 200) return started;
    await delay(10);
  }
  throw new Error('the server does not become ready');
}

async function stop(one: RunningServer, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  await one.stop(signal);
  running.delete(one);
}

interface Covered {
  events: number;
  last_position: string;
  headers_sha256: string;
  blobs: number;
}

async function printed(...args: string[]): Promise<Covered> {
  const ran = await precedent([...args, '--json'], { PRECEDENT_DATA: data });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ran.stdout) as Covered;
}

async function logOf(dir: string): Promise<RecordedEvent[]> {
  const reader = openSqliteReader(dir);
  const log: RecordedEvent[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of reader.follow(0, options)) log.push(...batch);
  await reader.close();
  return log;
}

/** What clients were told so far: where, and what must be there. */
function acknowledged(): { position: number; holds: string }[] {
  return [
    ...writers.ingestions.map(({ position, job = '' }) => ({ position, holds: job })),
    ...writers.reviews.map(({ position, decision }) => ({ position, holds: decision })),
  ].filter((a): a is { position: number; holds: string } => a.position !== undefined);
}

beforeAll(async () => {
  await mkdir(data);
  server = await start(data);
  writers = new KillWriters(random);
}, 60_000);
afterAll(async () => {
  await Promise.all([...running].map((one) => stop(one, 'SIGKILL')));
  rmSync(scratch, { recursive: true, force: true });
});

describe('backup and restore', () => {
  it(`B47: each copy made while 8 writers append is whole and holds all that was acknowledged (BACKUP_SEED=${SEED})`, async () => {
    const writing = writers.run(server);
    for (let tries = 0; acknowledged().length < 20 && tries < 1_000; tries += 1) await delay(10);
    const sizes: number[] = [];
    for (let i = 0; i < BACKUPS; i += 1) {
      const told = acknowledged();
      const [file, folder] = [join(scratch, `${i}.precedent`), join(scratch, `copy-${i}`)];
      const backup = await printed('backup', file);
      const restored = await printed('restore', file, '--to', folder);
      const { events, last_position, headers_sha256, blobs } = backup;
      expect(restored).toMatchObject({
        events,
        last_position,
        headers_sha256,
        blobs,
        proved: true,
      });
      const log = await logOf(folder);
      expect(log).toHaveLength(events);
      const lost = told.filter(({ position, holds }) => {
        const event = log[position - 1];
        return event?.position !== position || !`${event.stream} ${event.payload}`.includes(holds);
      });
      expect(lost).toEqual([]);
      sizes.push(told.length);
      rmSync(folder, { recursive: true });
      rmSync(file);
    }
    numbers['acknowledged before the last of them'] = sizes.at(-1) ?? 0;
    // Something was written between any two of them.
    expect(new Set(sizes).size).toBe(BACKUPS);
    await stop(server, 'SIGKILL');
    await writing;
    server = await start(data);
    await writers.settle(server);
  }, 240_000);

  it('B47: a server on a restored folder answers the same, and writes on', async () => {
    const before = await printed('backup', last);
    numbers['events'] = before.events;
    expect(await printed('restore', last, '--to', copy)).toMatchObject({ events: before.events });
    // The key is not in the ledger, only what proves it.
    for (const name of ['client.json', 'pepper']) copyFileSync(join(data, name), join(copy, name));
    const other = await start(copy);
    const topics = [...new Set(writers.reviews.map(({ topic }) => topic))].slice(0, 20);
    expect(topics.length).toBeGreaterThan(3);
    for (const topic of topics)
      expect(await historyOf(other, topic)).toEqual(await historyOf(server, topic));
    const read = async ({ url, key }: RunningServer, path: string): Promise<unknown> =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
    for (const path of ['/v1/pending?limit=200', '/v1/workspace'])
      expect(await read(other, path)).toEqual(await read(server, path));
    await stop(other);
    // Reactions ran from the beginning again and found nothing to do.
    expect(await logOf(copy)).toEqual(await logOf(data));
  }, 120_000);

  it('P4 B47: no flipped bit in a backup changes an event without being noticed', async () => {
    const whole = readFileSync(last);
    const log = await logOf(data);
    const [file, to] = [join(scratch, 'flipped'), join(scratch, 'flipped-copy')];
    const quietly = { signal: new AbortController().signal, onProgress: () => undefined };
    const found = { damage: 0, refused: 0, harmless: 0 };
    for (let i = 0; i < FLIPS; i += 1) {
      // Half of them where few bytes decide about all others.
      const offset = Math.floor(random() * (i % 2 === 0 ? 4_096 : whole.length));
      const bit = Math.floor(random() * 8);
      const bytes = Buffer.from(whole);
      bytes[offset] = bytes.readUInt8(offset) ^ (1 << bit);
      writeFileSync(file, bytes);
      const where = `bit ${bit} of byte ${offset}`;
      const error: unknown = await restore(file, to, quietly).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error instanceof LedgerDamage) found.damage += 1;
      else if (error instanceof Refusal) found.refused += 1;
      else {
        expect({ where, error }).toEqual({ where, error: undefined });
        found.harmless += 1;
        const store = await openSqliteStore(to, { clock: Date.now });
        await store.close();
        expect({ where, same: isSame(await logOf(to), log) }).toEqual({ where, same: true });
        rmSync(to, { recursive: true });
      }
      expect({ where, left: existsSync(to) }).toEqual({ where, left: false });
    }
    Object.assign(numbers, found);
    expect(found.damage).toBeGreaterThan(FLIPS / 10);
  }, 180_000);

  it('P5: the read models of the restored ledger are the original’s, in every zone and on every engine', async () => {
    const tables = projections.flatMap((p) => Object.keys(p.tables));
    const lived = ReadDatabase.openForReading(join(data, 'read.sqlite'));
    const expected = lived.digest(tables);
    lived.close();
    const log = await logOf(copy);
    const cluster = await TestEventStoreDb.start();
    await copyInto(cluster.connectionString, log);
    const places = [
      ...ZONES.map((zone) => ['sqlite:', zone]),
      ...ZONES.map((zone) => [cluster.connectionString, zone]),
      ['memory:', ZONES[2]],
    ];
    for (const [engine = '', zone = ''] of places)
      expect({ engine, zone, ...(await rebuilt(engine, zone)) }).toEqual({
        engine,
        zone,
        digest: expected,
        parked: 0,
        ran: zone,
      });
    await cluster.stop();
    proved('read models rebuilt in three time zones and on three engines', {
      rebuilds: places.length,
      'events compared': places.length * log.length,
      'tables compared': places.length * tables.length,
    });
  }, 240_000);

  it('says by its exit code what was in the way', async () => {
    const env = { PRECEDENT_DATA: data };
    const before = readFileSync(last);
    const codes = async (...args: string[]): Promise<unknown> => {
      const { code, stdout } = await precedent([...args, '--json'], env);
      return [code, (JSON.parse(stdout) as { error?: string }).error];
    };
    expect(await codes('backup', last)).toEqual([2, 'file_exists']);
    expect(await codes('backup', join(scratch, 'x'), '--data', scratch)).toEqual([3, 'no_ledger']);
    expect(await codes('backup', join(scratch, 'no', 'x'))).toEqual([4, 'unfinished']);
    expect(await codes('restore', last)).toEqual([2, 'no_folder']);
    expect(await codes('restore', last, '--verify')).toEqual([0, undefined]);
    expect(await codes('restore', last, '--to', data)).toEqual([2, 'folder_not_empty']);
    expect(await codes('restore', join(scratch, 'x'), '--verify')).toEqual([3, 'no_backup']);
    const cut = join(scratch, 'cut');
    writeFileSync(cut, before.subarray(0, before.length >> 1));
    expect(await codes('restore', cut, '--to', join(scratch, 'y'))).toEqual([1, 'damaged_backup']);
    expect(existsSync(join(scratch, 'y'))).toBe(false);
    expect(await codes('migrate')).toEqual([0, undefined]);
    expect(await codes('migrate', '--dry-run')).toEqual([0, undefined]);
    expect(readFileSync(last).equals(before)).toBe(true);
    proved('backup and restore', { backups: BACKUPS, ...numbers }, `BACKUP_SEED=${SEED}`);
  }, 120_000);
});

function isSame(a: readonly RecordedEvent[], b: readonly RecordedEvent[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The same log on a cluster: every stored byte of it, at positions of the cluster's own. */
async function copyInto(cluster: string, log: readonly RecordedEvent[]): Promise<void> {
  let now = 0;
  const store = await openEventStoreDb(cluster, { clock: () => now });
  for (const event of log) {
    now = Date.parse(event.recordedAt);
    await store.append(event.stream, event.revision - 1, [event]);
  }
  const stored: RecordedEvent[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of store.follow(0, options)) stored.push(...batch);
  const bytes = ({ header, payload }: RecordedEvent): string[] => [header, payload];
  expect(stored.map(bytes)).toEqual(log.map(bytes));
  await store.close();
}

/**
 * A program of its own, because a process reads its zone once. The log is the restored one (`sqlite:`), the same in memory
 * (`memory:`), or that of a cluster, whose positions are counted anew: what read models say of a position depends on them.
 */
async function rebuilt(
  engine: string,
  zone: string,
): Promise<{ digest: string; parked: number; ran: string }> {
  const dist = JSON.stringify(resolve('dist'));
  const script = `
    const dist = ${dist};
    const engine = ${JSON.stringify(engine)};
    const { openSqliteReader } = await import(dist + '/libs/event-store/sqlite.js');
    const { MemoryStore } = await import(dist + '/libs/event-store/memory.js');
    const { openEventStoreDb } = await import(dist + '/libs/event-store/eventstoredb.js');
    const { Follower } = await import(dist + '/libs/projections/follower.js');
    const { ReadDatabase } = await import(dist + '/libs/projections/read-database.js');
    const { projections } = await import(dist + '/apps/server/src/projections.js');
    const source = engine.startsWith('esdb:')
      ? await openEventStoreDb(engine, { clock: Date.now })
      : openSqliteReader(${JSON.stringify(copy)});
    const events = [];
    const options = { signal: new AbortController().signal, live: false };
    for await (const batch of source.follow(0, options)) events.push(...batch);
    const log = events.map((event, i) => ({ ...event, position: i + 1 }));
    const memory = new MemoryStore(Date.now, { events: log, streams: new Map(), blobs: new Map() });
    const db = ReadDatabase.openForWriting(':memory:');
    const follower = new Follower(engine === 'sqlite:' ? source : memory, db, projections);
    await follower.catchUp();
    await source.close();
    console.log(JSON.stringify({
      digest: db.digest(projections.flatMap((p) => Object.keys(p.tables))),
      parked: follower.statuses.filter((s) => s.parked).length,
      ran: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { env: { ...plainEnvironment(), TZ: zone } },
  );
  return JSON.parse(stdout) as { digest: string; parked: number; ran: string };
}
