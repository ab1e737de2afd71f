import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { sha256 } from '#kernel/json.js';
import { TestEventStoreDb, type AppendFault } from '../../test/support/eventstoredb-server.js';
import { collect, log, newEvent, refusal } from './conformance-support.js';
import { NO_STREAM, UnknownOutcome, type Appended, type RecordedEvent } from './event-store.js';
import { openEventStoreDb, type EventStoreDbStore, type Timings } from './eventstoredb.js';
import { proved } from '../../test/support/proved.js';

/** How long a follower is cut off. B30 asks for 30 s, which is tried now and then. */
const CUT_MS = Number(process.env['CUT_MS'] ?? 1_500);

const QUICK: Partial<Timings> = {
  appendMs: 300,
  settleMs: 8_000,
  readMs: 400,
  idleMs: 150,
  backoffMs: [10, 100],
};

describe('eventstoredb engine under faults', () => {
  let server: TestEventStoreDb;
  let store: EventStoreDbStore;
  const opened: EventStoreDbStore[] = [];
  const escaped: unknown[] = [];
  const escape = (error: unknown) => escaped.push(error);

  const open = async (connectionString: string, timings: Partial<Timings> = {}) => {
    const clock = () => Date.now();
    const one = await openEventStoreDb(connectionString, {
      clock,
      timings: { ...QUICK, ...timings },
    });
    opened.push(one);
    return one;
  };
  /** Waits until `true`; the test's own time limit ends it otherwise. */
  const until = async (condition: () => boolean) => {
    while (!condition()) await delay(5);
  };
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (e: unknown) => e,
    );
  /** Follows in the background until stopped; `seen` grows. */
  const following = (of: EventStoreDbStore, after = 0) => {
    const stop = new AbortController();
    const seen: RecordedEvent[] = [];
    const done = (async () => {
      for await (const batch of of.follow(after, { signal: stop.signal, live: true }))
        seen.push(...batch);
    })();
    return {
      seen,
      end: async () => {
        stop.abort();
        await done;
      },
    };
  };
  const ids = (events: readonly { id: string }[]) => events.map((e) => e.id);
  const fill = async (into: EventStoreDbStore, stream: string, from: number, count: number) => {
    for (let i = 0; i < count; i++) await into.append(stream, from + i - 1, [newEvent()]);
  };

  beforeEach(async () => {
    process.on('uncaughtException', escape);
    process.on('unhandledRejection', escape);
    server = await TestEventStoreDb.start();
    store = await open(server.connectionString);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((s) => s.close()));
    await server.stop();
    await delay(20);
    process.off('uncaughtException', escape);
    process.off('unhandledRejection', escape);
    expect(escaped.splice(0)).toEqual([]);
    // The shared promise map of batch appends is never touched, and nothing depends on feature discovery.
    expect(server.calls['batchAppend']).toBeUndefined();
    expect(server.calls['features']).toBeUndefined();
  });

  describe('B30: a live follower', () => {
    const cuts: [string, (s: TestEventStoreDb) => void, (s: TestEventStoreDb) => void][] = [
      [
        'RST, then a black hole',
        (s) => {
          s.proxy.reset();
          s.proxy.blackHole(true);
        },
        (s) => s.proxy.blackHole(false),
      ],
      [
        'a black hole without any sign',
        (s) => s.proxy.blackHole(true),
        (s) => s.proxy.blackHole(false),
      ],
      ['refused connections', (s) => s.proxy.refuse(true), (s) => s.proxy.refuse(false)],
    ];
    it.each(cuts)(
      '%s: all 100 events appended meanwhile arrive once, reconnect counted, not healthy while cut',
      async (_, cut, mend) => {
        const other = await open(server.directString);
        const follower = following(store);
        await fill(store, 'before', 0, 5);
        await until(() => follower.seen.length === 5);
        expect(store.healthy).toBe(true);
        cut(server);
        await fill(other, 'meanwhile', 0, 100);
        await until(() => !store.healthy);
        await delay(CUT_MS);
        expect(store.healthy).toBe(false);
        expect(follower.seen).toHaveLength(5);
        expect(other.healthy).toBe(true);
        mend(server);
        await until(() => follower.seen.length >= 105);
        expect(store.healthy).toBe(true);
        expect(store.stats.reconnects).toBe(1);
        await fill(store, 'after', 0, 5);
        await until(() => follower.seen.length >= 110);
        await follower.end();
        expect(follower.seen).toEqual(await log(store));
        expect(follower.seen).toHaveLength(110);
        proved('EventStoreDB cut off', { 'faults injected': 1, 'events compared': 110, lost: 0 });
      },
    );

    it('a subscription that stays open and delivers nothing is found out and replaced', async () => {
      const follower = following(store);
      await fill(store, 'a', 0, 5);
      await until(() => follower.seen.length === 5);
      server.reading.silent = true;
      await fill(store, 'b', 0, 50);
      await until(() => store.stats.silentSubscriptions > 0);
      expect(follower.seen).toHaveLength(5);
      await until(() => !store.healthy);
      server.reading.silent = false;
      await until(() => follower.seen.length >= 55);
      await until(() => store.healthy);
      await follower.end();
      expect(follower.seen).toEqual(await log(store));
      expect(store.stats.reconnects).toBe(1);
    });

    it('subscriptions that the server ends or resets, again and again under load, lose and repeat nothing', async () => {
      const followers = [following(store), following(store)];
      const writing = Promise.all([0, 1, 2, 3].map((w) => fill(store, `w${w}`, 0, 100)));
      let writes = true;
      void writing.finally(() => {
        writes = false;
      });
      for (let i = 0; writes; i++) {
        await delay(30);
        if (i % 2 === 0) server.endReads();
        else server.proxy.reset();
      }
      await writing;
      const all = await log(store);
      expect(all).toHaveLength(400);
      for (const follower of followers) {
        await until(() => follower.seen.length >= 400);
        await follower.end();
        expect(follower.seen).toEqual(all);
      }
      expect(store.stats.reconnects).toBeGreaterThan(2);
    });
  });

  describe('P7 B05: an append', () => {
    const faults: [AppendFault, number][] = [
      ['unavailable', 1],
      ['not-leader', 0],
      ['stall', 1],
      ['store-then-stall', 1],
      ['store-then-unavailable', 1],
      ['store-then-wrong-version', 1],
      ['delay', 1],
    ];
    it.each(faults)('that meets "%s" is stored once and answered so', async (fault, doubtful) => {
      await store.append('s', NO_STREAM, [newEvent()]);
      server.delayMs = 600;
      for (const events of [[newEvent()], [newEvent(), newEvent(), newEvent()]]) {
        const head = (await collect(store.readStream('s'))).length - 1;
        server.inject(fault);
        const appended = await store.append('s', head, events);
        const stored = await collect(store.readStream('s', head + 1));
        expect(ids(stored)).toEqual(ids(events));
        const { position, revision, recordedAt } = stored.at(-1)!;
        expect(appended).toEqual({ position, revision, recordedAt, replayed: false });
        const again = await store.append('s', head, events);
        expect(again).toEqual({ position, revision, recordedAt, replayed: true });
      }
      await delay(700);
      expect(await log(store)).toHaveLength(5);
      expect(server.injected).toBe(2);
      const { doubtfulAppends, settledAppends, unknownOutcomes } = store.stats;
      expect(doubtfulAppends).toBe(2 * doubtful);
      expect(settledAppends).toBe(2 * doubtful);
      expect(unknownOutcomes).toBe(0);
      expect(store.healthy).toBe(true);
      proved('EventStoreDB answers an append wrongly', {
        'faults injected': server.injected,
        lost: 0,
      });
    });

    it('P7: whose outcome cannot be found out is reported as unknown; the store goes on, a retry settles it', async () => {
      const hasty = await open(server.connectionString, { settleMs: 1_200 });
      const event = newEvent();
      server.inject('store-then-stall');
      const error = failure(hasty.append('s', NO_STREAM, [event]));
      await until(() => server.injected === 1);
      server.proxy.blackHole(true);
      expect(await error).toBeInstanceOf(UnknownOutcome);
      expect(hasty.healthy).toBe(false);
      expect(hasty.stats.unknownOutcomes).toBe(1);
      server.proxy.blackHole(false);
      const appended = await hasty.append('s', NO_STREAM, [event]);
      expect(appended).toMatchObject({ revision: 0, replayed: true });
      expect((await hasty.append('s', 0, [newEvent()])).replayed).toBe(false);
      expect(hasty.healthy).toBe(true);
      expect(await log(hasty)).toHaveLength(2);
    });

    it('P6: that never reached the cluster is refused as such', async () => {
      const hasty = await open(server.connectionString, { settleMs: 700 });
      await server.proxy.down();
      // A request under way at the reset may have arrived; this one finds nobody.
      await delay(50);
      const refused = await refusal(hasty.append('s', NO_STREAM, [newEvent()]));
      expect(refused).toMatchObject({ kind: 'unavailable', error: 'storage_unreachable' });
      // Where the cluster is, is no business of whoever reads the refusal.
      expect(refused.message).not.toContain('127.0.0.1');
      expect(refused.cause).toContain('ECONNREFUSED');
      expect((await refusal(hasty.end())).error).toBe('storage_unreachable');
      expect((await refusal(collect(hasty.readStream('s')))).error).toBe('storage_unreachable');
      expect(hasty.healthy).toBe(false);
      expect((await refusal(open(server.connectionString, { settleMs: 300 }))).error).toBe(
        'storage_unreachable',
      );
      await server.proxy.up();
      await hasty.append('s', NO_STREAM, [newEvent()]);
      expect(hasty.healthy).toBe(true);
    });

    it('that is cut off in its middle is stored whole or not at all, and once', async () => {
      const batch = () => Array.from({ length: 300 }, () => newEvent());
      // Each append is cut off once, at a moment of its own.
      for (let i = 0; i < 12; i++) {
        const appended = store.append('s', i * 300 - 1, batch());
        await delay(i);
        server.proxy.reset();
        expect((await appended).replayed).toBe(false);
      }
      const stored = await collect(store.readStream('s'));
      expect(stored).toHaveLength(3_600);
      expect(new Set(ids(stored)).size).toBe(3_600);
      expect(server.log.stream('precedent:s')).toHaveLength(3_600);
      proved('EventStoreDB cut off in mid-append', {
        'faults injected': 12,
        'events compared': 3_600,
        lost: 0,
      });
      expect(store.stats.doubtfulAppends).toBeGreaterThan(3);
    });

    it('P2: of one command, sent by two servers at once, is stored once and told to both', async () => {
      const other = await open(server.connectionString);
      for (let revision = NO_STREAM; revision < 20; revision++) {
        const events = [newEvent()];
        const answers = await Promise.all(
          [store, other, store, other].map((s) => s.append('s', revision, events)),
        );
        expect(answers.filter((a) => !a.replayed)).toHaveLength(1);
        expect(new Set(answers.map((a) => `${a.position} ${a.recordedAt}`)).size).toBe(1);
      }
      expect(await log(other)).toHaveLength(21);
    });

    it('P3 P7: under a storm of faults every acknowledged append is there once, in its place', async () => {
      const faults: AppendFault[] = [
        'unavailable',
        'not-leader',
        'store-then-stall',
        'store-then-unavailable',
        'store-then-wrong-version',
        'stall',
        'delay',
      ];
      server.delayMs = 400;
      const acknowledged = new Map<string, Appended>();
      const write = async (writer: number) => {
        for (let revision = NO_STREAM; revision < 40;) {
          if (randomInt(4) === 0) server.inject(faults[randomInt(faults.length)]!);
          const events = Array.from({ length: randomInt(1, 4) }, () => newEvent());
          const appended = await store.append(`storm-${writer}`, revision, events);
          for (const { id } of events) acknowledged.set(id, appended);
          revision = appended.revision;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, w) => write(w)));
      const all = await log(store);
      expect(all).toHaveLength(acknowledged.size);
      expect(new Set(ids(all)).size).toBe(all.length);
      for (const event of all) {
        const appended = acknowledged.get(event.id)!;
        expect(appended.replayed).toBe(false);
        expect(event.recordedAt).toBe(appended.recordedAt);
        expect(event.position).toBeLessThanOrEqual(appended.position);
      }
      proved(
        'EventStoreDB in a storm of faults',
        { 'faults injected': server.injected, 'events compared': all.length, lost: 0 },
        JSON.stringify(store.stats),
      );
      expect(store.stats.settledAppends).toBe(store.stats.doubtfulAppends);
    });

    it('P1 P3: restarts of the server amid 8 writers and a follower lose and repeat nothing', async () => {
      const follower = following(store);
      const acknowledged = new Map<string, Appended>();
      let writers = 8;
      const write = async (writer: number) => {
        for (let i = 0; i < 60; i++) {
          const event = newEvent();
          acknowledged.set(event.id, await store.append(`writer-${writer}`, i - 1, [event]));
        }
        writers--;
      };
      const writing = Promise.all(Array.from({ length: 8 }, (_, w) => write(w)));
      let restarts = 0;
      for (; writers > 0 && restarts < 5; restarts++) {
        await delay(40);
        await server.restart(100);
      }
      await writing;
      expect(restarts).toBeGreaterThan(1);
      const all = await log(store);
      expect(all).toHaveLength(480);
      for (const event of all) expect(acknowledged.get(event.id)?.position).toBe(event.position);
      await until(() => follower.seen.length >= 480);
      await follower.end();
      expect(follower.seen).toEqual(all);
      proved(
        'EventStoreDB restarted under writers and a follower',
        { 'faults injected': restarts, 'events compared': all.length, lost: 0 },
        JSON.stringify(store.stats),
      );
    });
  });

  it('a cluster that is not found for a while is found again: a failed discovery is not kept', async () => {
    const found = await open(server.discoveryString);
    await found.append('s', NO_STREAM, [newEvent()]);
    const follower = following(found);
    await until(() => follower.seen.length === 1);
    server.proxy.refuse(true);
    await until(() => !found.healthy);
    await delay(500);
    server.proxy.refuse(false);
    await found.append('s', 0, [newEvent()]);
    await until(() => follower.seen.length === 2);
    expect(found.healthy).toBe(true);
    expect(server.calls['gossip']).toBeGreaterThan(1);
    await follower.end();
  });

  it('a broken-off iteration leaves no call behind', async () => {
    await store.append(
      's',
      NO_STREAM,
      Array.from({ length: 500 }, () => newEvent()),
    );
    const signal = new AbortController().signal;
    for (let i = 0; i < 10; i++) {
      for await (const _ of store.follow(0, { signal, live: true, batch: 3 })) break;
      for await (const _ of store.readStream('s')) break;
    }
    await until(() => server.reading.open.size === 0);
  });

  it('blobs of several chunks: written once by many, taken up after a break, refused when changed', async () => {
    const bytes = Buffer.from('0123456789'.repeat(250_000));
    const hash = sha256(bytes);
    const stream = `blob-${hash}`;
    const hasty = await open(server.connectionString, { settleMs: 500 });
    server.inject('delay', 'stall', 'stall', 'stall', 'stall');
    server.delayMs = 0;
    expect(await failure(hasty.putBlobs([{ hash, bytes }]))).toBeInstanceOf(UnknownOutcome);
    expect(server.log.stream(stream)).toHaveLength(1);
    expect(await store.getBlob(hash)).toBeUndefined();
    await Promise.all([1, 2, 3, 4].map(() => store.putBlobs([{ hash, bytes }])));
    expect(server.log.stream(stream)).toHaveLength(3);
    expect(Buffer.compare((await store.getBlob(hash))!, bytes)).toBe(0);
    expect(await store.end()).toBe(0);
    server.log.stream(stream)[1]!.data[7]! ^= 1;
    await expect(store.getBlob(hash)).rejects.toThrow('other bytes');
  });

  it('P4: an event that this product did not write is not passed over', async () => {
    await store.append('s', NO_STREAM, [newEvent()]);
    const intruder = EventStoreDBClient.connectionString(server.directString);
    const credentials = { username: 'x', password: 'y' };
    await intruder.appendToStream('precedent:s', jsonEvent({ type: 't', data: {} }), {
      credentials,
    });
    await expect(collect(store.readStream('s'))).rejects.toThrow('not written by this product');
    await expect(
      collect(store.follow(0, { signal: new AbortController().signal, live: true })),
    ).rejects.toThrow('not written by this product');
    await intruder.dispose();
  });
});

describe('test server: what EventStoreDB does with a known event id', () => {
  it('B01 B02 B04: explicit revisions recognise it without comparing; "any" and other streams do not', async () => {
    const server = await TestEventStoreDb.start();
    const client = EventStoreDBClient.connectionString(server.directString);
    const credentials = { username: 'x', password: 'y' };
    const append = (stream: string, data: string, expectedRevision: 'any' | 'no_stream' | bigint) =>
      client.appendToStream(
        stream,
        jsonEvent({ id: '11111111-1111-4111-8111-111111111111', type: 't', data }),
        { expectedRevision, credentials },
      );
    await append('a', 'net 30', 'no_stream');
    expect(await append('a', 'net 60', 'no_stream')).toMatchObject({ nextExpectedRevision: 0n });
    expect(server.log.stream('a')).toHaveLength(1);
    await append('b', 'net 30', 'any');
    await append('a', 'net 30', 'any');
    expect(server.log.stream('a')).toHaveLength(1);
    expect(server.log.stream('b')).toHaveLength(1);
    await append('a', 'net 30', 0n);
    expect(server.log.stream('a')).toHaveLength(2);
    await client.dispose();
    await server.stop();
  });
});
