import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sha256 } from '#kernel/json.js';
import {
  certificate,
  hasOpenssl,
  TestCluster,
  type Certificate,
} from '../../test/support/eventstoredb-cluster.js';
import { TestEventStoreDb } from '../../test/support/eventstoredb-server.js';
import { proved } from '../../test/support/proved.js';
import { collect, log, newEvent, refusal } from './conformance-support.js';
import { NO_STREAM, UnknownOutcome, type RecordedEvent } from './event-store.js';
import { openEventStoreDb, type EventStoreDbStore, type Timings } from './eventstoredb.js';

const QUICK: Partial<Timings> = {
  appendMs: 400,
  settleMs: 12_000,
  readMs: 1_500,
  idleMs: 200,
  backoffMs: [10, 100],
};
const SETTING = 'PRECEDENT_EVENTSTORE';

const stores: EventStoreDbStore[] = [];
const servers: { stop(): Promise<void> }[] = [];
const escaped: unknown[] = [];
const escape = (error: unknown) => escaped.push(error);
const until = async (condition: () => boolean) => {
  while (!condition()) await delay(5);
};

async function open(address: string, timings: Partial<Timings> = {}): Promise<EventStoreDbStore> {
  const options = { clock: () => Date.now(), timings: { ...QUICK, ...timings } };
  const store = await openEventStoreDb(address, options);
  stores.push(store);
  return store;
}

async function started<T extends { stop(): Promise<void> }>(server: Promise<T>): Promise<T> {
  servers.push(await server);
  return server;
}

/** Follows in the background; `seen` grows. */
function following(store: EventStoreDbStore) {
  const stop = new AbortController();
  const seen: RecordedEvent[] = [];
  const done = (async () => {
    for await (const batch of store.follow(0, { signal: stop.signal, live: true }))
      seen.push(...batch);
  })();
  return { seen, end: () => (stop.abort(), done) };
}

beforeAll(() => {
  process.on('uncaughtException', escape);
  process.on('unhandledRejection', escape);
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  expect(escaped.splice(0)).toEqual([]);
});
afterAll(() => {
  process.off('uncaughtException', escape);
  process.off('unhandledRejection', escape);
});

describe('the address of a cluster', () => {
  it.each([
    ['esdb://', 'is no address'],
    ['esdb://:pw@host:2113', 'user without a password'],
    ['esdb://ann@host:2113', 'user without a password'],
    ['esdb://ann:p%zz@host:2113', '% that begins no escape'],
    ['esdb://ann:secret@host:2113?tlsVerifyCert=false', 'tlsVerifyCert is not supported'],
    ['esdb://ann:secret@host:2113?tsl=true', 'tsl is no option'],
    ['esdb://ann:secret@host:2113?tls=maybe', 'is not understood'],
    ['esdb://ann:secret@host:port', 'is not understood'],
    ['esdb://ann:secret@host:2113?tlsCAFile=/nowhere/ca.pem', '/nowhere/ca.pem cannot be read'],
  ])(
    '%s is refused at once, naming the setting and never the password',
    async (address, problem) => {
      const refused = await refusal(open(address));
      expect(refused).toMatchObject({ kind: 'invalid', path: SETTING });
      expect(refused.message).toContain(problem);
      expect(JSON.stringify(refused.body())).not.toContain('secret');
    },
  );
});

if (!hasOpenssl) process.stderr.write('SKIPPED TLS and credentials: they need OpenSSL 3\n');
(hasOpenssl ? describe : describe.skip)('TLS and credentials', () => {
  const dir = mkdtempSync(join(tmpdir(), 'precedent-tls-'));
  afterAll(() => {
    rmSync(dir, { recursive: true });
  });
  let own: Certificate;
  beforeAll(() => {
    own = certificate(dir, 'own');
  });
  const users = { ann: 'pass:w@rd %', guest: 'guest' };
  const ANN = 'ann:pass%3Aw%40rd%20%25';
  const start = (tls = own.tls) => started(TestEventStoreDb.start({ tls, users }));
  const at = ({ proxy }: TestEventStoreDb, user: string, more = '', ca = own.ca) =>
    `esdb://${user}127.0.0.1:${proxy.port}?tls=true&tlsCAFile=${encodeURIComponent(ca)}${more}`;

  it('the right ones are sent with every call: appends, reads, subscriptions, blobs, after a restart too', async () => {
    const server = await start();
    const store = await open(at(server, `${ANN}@`));
    const follower = following(store);
    await store.append('s', NO_STREAM, [newEvent(), newEvent()]);
    await store.append('s', 1, [newEvent()]);
    expect(await collect(store.readStream('s'))).toHaveLength(3);
    const bytes = Buffer.from('a text');
    await store.putBlobs([{ hash: sha256(bytes), bytes }]);
    expect(await store.getBlob(sha256(bytes))).toEqual(new Uint8Array(bytes));
    await until(() => follower.seen.length === 3);
    await server.restart(50);
    await store.append('s', 2, [newEvent()]);
    await until(() => follower.seen.length === 4);
    await follower.end();
    expect(follower.seen).toEqual(await log(store));
    expect(server.denied).toBe(0);
    expect(server.calls['append']).toBeGreaterThanOrEqual(3);
    expect(server.calls['read']).toBeGreaterThanOrEqual(4);
    expect(server.calls['batchAppend']).toBeUndefined();
    proved('EventStoreDB with TLS and credentials', {
      'calls authenticated': (server.calls['append'] ?? 0) + (server.calls['read'] ?? 0),
    });
  });

  it.each([
    ['a wrong password', 'ann:wrong@'],
    ['an unknown user', 'eve:wrong@'],
    ['no user', ''],
    ['a user without the right', 'guest:guest@'],
  ])('%s is refused at once, naming the setting', async (_, user) => {
    const server = await start();
    const began = performance.now();
    const refused = await refusal(open(at(server, user)));
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(refused).toMatchObject({ error: 'storage_access_denied', path: SETTING });
    expect(refused.body().fix).toBeDefined();
    expect(JSON.stringify(refused.body())).not.toContain('wrong');
    expect(server.log.all).toHaveLength(0);
  });

  it('a password that is changed under a running server: writes refused as such, not healthy, reads of followers go on later', async () => {
    const changing: Record<string, string> = { ...users };
    const server = await started(TestEventStoreDb.start({ tls: own.tls, users: changing }));
    const store = await open(at(server, `${ANN}@`));
    const follower = following(store);
    await store.append('s', NO_STREAM, [newEvent()]);
    await until(() => follower.seen.length === 1);
    changing['ann'] = 'other';
    const event = newEvent();
    expect((await refusal(store.append('s', 0, [event]))).error).toBe('storage_access_denied');
    expect((await refusal(collect(store.readStream('s')))).error).toBe('storage_access_denied');
    expect(store.healthy).toBe(false);
    server.endReads();
    changing['ann'] = users.ann;
    expect((await store.append('s', 0, [event])).replayed).toBe(false);
    await until(() => follower.seen.length === 2 && store.healthy);
    await follower.end();
  });

  it('P7: an append that may be stored before access is lost has an unknown outcome, not a refusal', async () => {
    const changing: Record<string, string> = { ...users };
    const server = await started(TestEventStoreDb.start({ tls: own.tls, users: changing }));
    const store = await open(at(server, `${ANN}@`));
    const event = newEvent();
    server.inject('store-then-stall');
    const answer = store.append('s', NO_STREAM, [event]).catch((error: unknown) => error);
    await until(() => server.injected === 1);
    changing['ann'] = 'other';
    expect(await answer).toBeInstanceOf(UnknownOutcome);
    changing['ann'] = users.ann;
    expect((await store.append('s', NO_STREAM, [event])).replayed).toBe(true);
  });

  const strangers: [string, () => Certificate, (s: TestEventStoreDb, c: Certificate) => string][] =
    [
      ['of an unknown authority', () => certificate(dir, 'other'), (s) => at(s, `${ANN}@`)],
      [
        'of an authority that no tlsCAFile names',
        () => own,
        (s) => `esdb://${ANN}@127.0.0.1:${s.proxy.port}`,
      ],
      [
        'for another host',
        () => certificate(dir, 'host', 'DNS:elsewhere.test'),
        (s, { ca }) => at(s, `${ANN}@`, '', ca),
      ],
      [
        'of an unknown authority, met while discovering,',
        () => certificate(dir, 'another'),
        (s) => at(s, `${ANN}@`).replace('esdb:', 'esdb+discover:'),
      ],
    ];
  it.each(strangers)('a certificate %s is refused as such, not waited for', async (_, made, to) => {
    const theirs = made();
    const server = await start(theirs.tls);
    const began = performance.now();
    const refused = await refusal(open(to(server, theirs)));
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(refused).toMatchObject({ error: 'storage_untrusted', path: SETTING });
    expect(refused.message).toMatch(/self-signed|unable to (get|verify)|altnames/i);
  });

  it('a server that speaks no TLS is told from one that is away', async () => {
    const plain = await started(TestEventStoreDb.start());
    const refused = await refusal(open(`esdb://${ANN}@127.0.0.1:${plain.proxy.port}`));
    expect(refused).toMatchObject({ error: 'storage_untrusted', path: SETTING });
    const away = await refusal(open('esdb://127.0.0.1:9', { settleMs: 300 }));
    expect(away.error).toBe('storage_unreachable');
  });
});

describe('discovery of several nodes', () => {
  const OPTIONS = 'tls=false&gossipTimeout=1&discoveryInterval=20&maxDiscoverAttempts=3';
  const address = (cluster: TestCluster) => `esdb://${cluster.hosts.join(',')}?${OPTIONS}`;
  /** Through a node that follows, as DNS would give. */
  const seeded = (cluster: TestCluster) =>
    `esdb+discover://${cluster.hosts[cluster.nodes.findIndex((n) => n !== cluster.leader)] ?? ''}?${OPTIONS}`;

  it.each([
    ['killed', 'three nodes', address],
    ['black hole', 'three nodes', address],
    ['killed', 'a seed', seeded],
  ] as const)(
    'P1 P3: the leader is lost (%s; named are %s): another one is found, writers and follower go on',
    async (how, _, of) => {
      const cluster = await started(TestCluster.start(3));
      const store = await open(of(cluster));
      const follower = following(store);
      const events = Array.from({ length: 60 }, () => newEvent());
      const append = async (from: number, to: number) => {
        for (let i = from; i < to; i++) await store.append('s', i - 1, [events[i]!]);
      };
      await append(0, 20);
      await until(() => follower.seen.length === 20);
      const lost = await cluster.lose(how);
      const writing = append(20, 60);
      await until(() => !store.healthy);
      await delay(300);
      cluster.elect();
      await writing;
      await until(() => follower.seen.length >= 60);
      await until(() => store.healthy);
      await cluster.back(lost);
      await store.append('s', 59, [newEvent()]);
      await until(() => follower.seen.length >= 61);
      await follower.end();
      expect(follower.seen.slice(0, 60).map((e) => e.id)).toEqual(events.map((e) => e.id));
      expect(cluster.log.stream('precedent:s')).toHaveLength(61);
      expect(store.stats.reconnects).toBeGreaterThan(0);
      proved('EventStoreDB cluster', { 'faults injected': 1, 'events compared': 61, lost: 0 });
    },
  );

  it('the lead moves while all nodes live: what the old leader refuses goes to the new one', async () => {
    const cluster = await started(TestCluster.start(3));
    const store = await open(address(cluster));
    for (let i = 0; i < 30; i++) {
      if (i % 5 === 4) cluster.elect();
      await store.append('s', i - 1, [newEvent()]);
    }
    expect(await collect(store.readStream('s'))).toHaveLength(30);
    expect(store.healthy).toBe(true);
    expect(store.stats.unknownOutcomes).toBe(0);
    proved('EventStoreDB cluster', { 'faults injected': 6, 'events compared': 30, lost: 0 });
  });

  it('no node answers for longer than a discovery lasts: refused meanwhile, and found again without a restart', async () => {
    const cluster = await started(TestCluster.start(3));
    const store = await open(address(cluster), { settleMs: 1_500 });
    const follower = following(store);
    await store.append('s', NO_STREAM, [newEvent()]);
    await until(() => follower.seen.length === 1);
    for (const { proxy } of cluster.nodes) proxy.refuse(true);
    await delay(50);
    expect((await refusal(store.append('s', 0, [newEvent()]))).error).toBe('storage_unreachable');
    expect((await refusal(store.end())).error).toBe('storage_unreachable');
    expect(store.healthy).toBe(false);
    for (const { proxy } of cluster.nodes) proxy.refuse(false);
    await store.append('s', 0, [newEvent()]);
    await until(() => follower.seen.length === 2 && store.healthy);
    await follower.end();
  });
});

describe('B30: health', () => {
  it.each([true, 'confirmed'] as const)(
    'stays down while the follower is cut (silent: %s), whatever else succeeds',
    async (silent) => {
      const server = await started(TestEventStoreDb.start());
      const store = await open(server.connectionString);
      const follower = following(store);
      await store.append('s', NO_STREAM, [newEvent()]);
      await until(() => follower.seen.length === 1);
      expect(store.healthy).toBe(true);
      server.reading.silent = silent;
      await store.append('s', 0, [newEvent()]);
      await until(() => !store.healthy);
      for (let revision = 1; revision < 41; revision++) {
        await store.append('s', revision, [newEvent()]);
        await store.end();
        expect(store.healthy).toBe(false);
        await delay(15);
      }
      expect(follower.seen).toHaveLength(1);
      expect(store.stats.silentSubscriptions).toBeGreaterThan(0);
      server.reading.silent = false;
      await until(() => store.healthy);
      await until(() => follower.seen.length === 42);
      await follower.end();
      expect(follower.seen).toEqual(await log(store));
    },
  );
});
