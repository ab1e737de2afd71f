import { createPublicKey, type KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventStore } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { openEventStoreDb } from '#event-store/eventstoredb.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { Streams } from '#event-store/streams.js';
import { ed25519Vkey, parseVkey } from '#transparency/note.js';
import { verifyReceipt } from '#transparency/receipt.js';
import { TestEventStoreDb } from '../../../test/support/eventstoredb-server.js';
import {
  assertConsistent,
  checkpointEvents,
  checkpointsOf,
  LogServers,
  newKey,
  ORIGIN,
  record,
  refusal,
  WORKSPACE,
  type LogServer,
} from '../../../test/support/log-servers.js';
import { proved } from '../../../test/support/proved.js';
import { LogService } from './log-service.js';
import { checkpointStream } from '../streams.js';

let servers: LogServers;
beforeEach(() => {
  servers = new LogServers();
});
afterEach(() => servers.close());

const server: LogServers['start'] = (store, name, ...held) => servers.start(store, name, ...held);

describe('checkpoints of a log', () => {
  it('are in the log before anybody has them; receipts verify, and one checkpoint serves many', async () => {
    const store = new MemoryStore(() => 1_000);
    const key = newKey();
    const one = await server(store, 'one', key);
    const positions = [await record(store), await record(store), await record(store, 'w2')];
    const vkey = ed25519Vkey(ORIGIN, createPublicKey(key));
    const receipts = await Promise.all(
      positions
        .slice(0, 2)
        .map((at) => one.receipts.issue(WORKSPACE, at, { kind: 'answer', state: 'verified' })),
    );
    const events = await checkpointEvents(store);
    expect(events.map(({ type }) => type)).toEqual(['LogOpened', 'CheckpointSigned']);
    for (const [i, receipt] of receipts.entries()) {
      const { statement, checkpoint } = verifyReceipt(receipt, [parseVkey(vkey)]);
      expect(statement.predicate).toMatchObject({
        kind: 'answer',
        index: i,
        state: 'verified',
        event_type: 'Happened',
      });
      expect(events[1]?.data).toMatchObject({ note: checkpoint.note, size: checkpoint.size });
    }
    // Later checkpoints change nothing of a receipt.
    await one.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const again = await one.receipts.issue(WORKSPACE, positions[0] ?? 0, {
      kind: 'answer',
      state: 'verified',
    });
    expect(again).toEqual(receipts[0]);
    expect(await checkpointsOf(store)).toHaveLength(2);
    expect(
      (await refusal(one.receipts.issue(WORKSPACE, positions[2] ?? 0, { kind: 'answer' }))).error,
    ).toBe('not_found');
    expect(one.published).toEqual([[vkey]]);
    expect(one.log.status()).toMatchObject({ state: 'signing', errors: 0 });
  });

  it('are not signed for checkpoint events alone, and at the end for all that is left', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one', newKey());
    await record(store);
    await one.models.settled(await store.end());
    await one.log.signer.sign(WORKSPACE);
    await one.log.signer.sign(WORKSPACE);
    const end = await store.end();
    expect(end).toBe(3);
    await one.models.settled(end);
    await one.log.signer.sign(WORKSPACE);
    expect(await store.end()).toBe(end);
    // What asks for a checkpoint event itself gets one over it.
    await one.receipts.issue(WORKSPACE, end, { kind: 'answer' });
    expect(await store.end()).toBe(end + 1);
  });

  it('are signed at intervals where there is something new, and then no more', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one', newKey());
    const timed = new LogService(new Streams(store, { shared: true }), one.models, {
      keys: one.log.keys,
      seconds: 1,
      onProblem: (error) => {
        throw error;
      },
    });
    timed.start();
    await record(store);
    await record(store, 'w2');
    const until = async (size: number): Promise<void> => {
      while ((await store.end()) < size) await delay(50);
    };
    await until(6);
    await one.models.settled(6);
    expect(timed.coverage()).toEqual({ events: 6, covered: 2 + 2 });
    await delay(2_200);
    expect(await store.end()).toBe(6);
    expect(timed.status()).toMatchObject({ state: 'signing', uncoveredSeconds: 0, errors: 0 });
    await record(store);
    await timed.close();
    expect(await store.end()).toBe(8);
  });

  it('a new signer takes up a long log at its last checkpoint, which it reads from the log itself', async () => {
    const store = new MemoryStore(() => 1_000);
    const [old, key] = [newKey(), newKey()];
    const before = await server(store, 'before', old);
    await before.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const one = await server(store, 'one', key, old);
    for (let n = 0; n < 40; n++)
      await one.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const stream = checkpointStream(WORKSPACE);
    const revisions: number[] = [];
    const watched = Object.assign(Object.create(store) as MemoryStore, {
      readStream: (name: string, from = 0) => {
        if (name === stream) revisions.push(from);
        return store.readStream(name, from);
      },
      append: store.append.bind(store),
      follow: store.follow.bind(store),
      end: store.end.bind(store),
    });
    const two = await server(watched, 'two', key, old);
    await two.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const signed = await checkpointsOf(store);
    expect(signed).toHaveLength(42);
    // LogOpened, a checkpoint, LogKeyRotated, forty checkpoints: the last has revision 42.
    expect(Math.min(...revisions)).toBe(42);
    assertConsistent(signed, two);
  });

  /** Four writers record and ask for receipts, each time the other of two servers; every receipt is verified. */
  async function race(
    store: EventStore,
    key: KeyObject,
    [one, two]: [LogServer, LogServer],
    rounds: number,
  ) {
    const keys = [parseVkey(ed25519Vkey(ORIGIN, createPublicKey(key)))];
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; n < rounds; n++) {
        const position = await record(store);
        const { receipts } = (writer + n) % 2 === 0 ? one : two;
        verifyReceipt(await receipts.issue(WORKSPACE, position, { kind: 'approval' }), keys);
      }
    });
    await Promise.all(writers);
    await one.models.settled(await store.end());
    const signed = await checkpointsOf(store);
    expect(new Set(signed.map(({ size }) => size)).size).toBe(signed.length);
    const opened = (await checkpointEvents(store)).filter(({ type }) => type === 'LogOpened');
    expect(opened).toHaveLength(1);
    expect([one.problems, two.problems]).toEqual([[], []]);
    return {
      receipts: 4 * rounds,
      checkpoints: signed.length,
      pairs: assertConsistent(signed, one),
      contradictions: 0,
    };
  }

  it('P4: two signers that race on one SQLite ledger make one history; no two trees that were signed contradict', async () => {
    const store = await openSqliteStore(servers.dir, { clock: Date.now });
    servers.on(() => store.close());
    const key = newKey();
    const both: [LogServer, LogServer] = [
      await server(store, 'one', key),
      await server(store, 'two', key),
    ];
    const counts = await race(store, key, both, 30);
    expect(counts.checkpoints).toBeGreaterThan(20);
    proved('checkpoints of racing signers', counts);
  }, 60_000);

  it('P4: so do two servers of one EventStoreDB', async () => {
    const cluster = await TestEventStoreDb.start();
    servers.on(() => cluster.stop());
    const [first, second] = [
      await openEventStoreDb(cluster.connectionString, { clock: Date.now }),
      await openEventStoreDb(cluster.connectionString, { clock: Date.now }),
    ];
    servers.on(async () => {
      await first.close();
      await second.close();
    });
    const key = newKey();
    const both: [LogServer, LogServer] = [
      await server(first, 'one', key),
      await server(second, 'two', key),
    ];
    const counts = await race(first, key, both, 12);
    expect(counts.checkpoints).toBeGreaterThan(5);
    proved('checkpoints of racing signers', counts);
    const third = await server(second, 'three', newKey());
    const late = await record(first);
    const refused = await refusal(third.receipts.issue(WORKSPACE, late, { kind: 'answer' }));
    expect(refused.error).toBe('foreign_log_key');
  }, 60_000);

  it('P4: a tree that does not continue what was signed is not signed, and it is said', async () => {
    const store = new MemoryStore(() => 1_000);
    const key = newKey();
    const one = await server(store, 'one', key);
    for (let n = 0; n < 20; n++) await record(store);
    await one.receipts.issue(WORKSPACE, 3, { kind: 'answer' });
    // Somebody changes an event that is under the checkpoint, and the read models are made anew from that.
    const tampered = store.log.events[5];
    if (!tampered) throw new Error('no event');
    tampered.header = tampered.header.replace('"ann"', '"eve"');
    const two = await server(store, 'two', key);
    const position = await record(store);
    const end = await store.end();
    expect((await refusal(two.receipts.issue(WORKSPACE, position, { kind: 'answer' }))).error).toBe(
      'log_inconsistent',
    );
    expect(await store.end()).toBe(end);
    expect(two.log.status()).toMatchObject({ state: 'inconsistent', inconsistent: 1, errors: 1 });
    expect(two.problems).toEqual(['log_inconsistent']);
  });

  it('P4: a log that lost events under a checkpoint is not signed', async () => {
    const store = new MemoryStore(() => 1_000);
    const key = newKey();
    const one = await server(store, 'one', key);
    for (let n = 0; n < 5; n++) await record(store);
    await one.receipts.issue(WORKSPACE, 1, { kind: 'answer' });
    const cut = new MemoryStore(() => 1_000, {
      events: store.log.events.filter((e, i) => i > 2 || e.stream.startsWith('checkpoint')),
      streams: store.log.streams,
      blobs: new Map(),
    });
    for (const [i, event] of cut.log.events.entries()) event.position = i + 1;
    const two = await server(cut, 'two', key);
    const position = await record(cut);
    expect((await refusal(two.receipts.issue(WORKSPACE, position, { kind: 'answer' }))).error).toBe(
      'log_inconsistent',
    );
  });
});
