import { createPublicKey, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM, type EventStore } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { openEventStoreDb } from '#event-store/eventstoredb.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { Streams } from '#event-store/streams.js';
import type { Json } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { projectHere, type Projector } from '#projections/projector.js';
import { ReadDatabase } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { openCheckpoint, type SignedCheckpoint } from '#transparency/checkpoint.js';
import { consistencyProof, verifyConsistency } from '#transparency/merkle.js';
import { ed25519Vkey, parseVkey } from '#transparency/note.js';
import { verifyReceipt } from '#transparency/receipt.js';
import { TestEventStoreDb } from '../../../test/support/eventstoredb-server.js';
import { proved } from '../../../test/support/proved.js';
import { checkpointCodec, type CheckpointEvent } from '../domain/checkpoint.events.js';
import { verifyRotation } from './key-chain.js';
import { LogEvents } from './log-events.js';
import type { LogKeys } from './log-keys.js';
import { LogService } from './log-service.js';
import { originOfLog } from '../domain/origin.js';
import { logTree, sizeOf, treeOf } from '../projections/log-tree.js';
import { LedgerReceipts } from './receipts.js';
import { checkpointStream } from '../streams.js';

const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
const WORKSPACE = 'w1';
const ORIGIN = originOfLog('test', WORKSPACE);

const ends: (() => Promise<void> | void)[] = [];
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'signer-'));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(dir, { recursive: true, force: true });
});

interface Server {
  log: LogService;
  receipts: LedgerReceipts;
  models: ReadModels;
  projector: Projector;
  db: ReadDatabase;
  held: KeyObject[];
  published: string[][];
  problems: string[];
}

/** What one server has of the log, on a store that others may share. */
async function server(store: EventStore, name: string, ...held: KeyObject[]): Promise<Server> {
  const path = join(dir, `${name}.sqlite`);
  const projector = await projectHere(store, path, [logTree], {
    onFailure: (error) => {
      throw error;
    },
  });
  const db = ReadDatabase.openForReading(path);
  const streams = new Streams(store, { shared: true });
  const models = new ReadModels(db, projector, streams);
  const [published, problems]: [string[][], string[]] = [[], []];
  const keys: LogKeys = {
    name: 'test',
    held,
    publish: (vkeys) => {
      published.push([...vkeys]);
      return Promise.resolve();
    },
    forgetFormer: () => {
      held.length = 1;
      return Promise.resolve();
    },
  };
  const options = {
    keys,
    seconds: 0,
    onProblem: (_: unknown, what: string) => problems.push(what),
  };
  const log = new LogService(streams, models, options);
  const receipts = new LedgerReceipts(
    models,
    new LogEvents(store, models, !('stats' in store)),
    log,
  );
  ends.push(async () => {
    await log.close();
    await projector.close();
    db.close();
  });
  return { log, receipts, models, projector, db, held, published, problems };
}

let next = 0;
/** One event in a stream of its own; its position. */
async function record(store: EventStore, workspace = WORKSPACE): Promise<number> {
  const { position } = await store.append(`thing-${++next}`, NO_STREAM, [
    {
      id: randomUUID(),
      type: 'Happened',
      version: 1,
      workspace,
      actor: { principal: 'ann', kind: 'person', credential: null },
      causation: `c${next}`,
      correlation: `c${next}`,
      payload: '{}',
    },
  ]);
  return position;
}

async function checkpointEvents(store: EventStore): Promise<CheckpointEvent[]> {
  const all: CheckpointEvent[] = [];
  for await (const batch of store.readStream(checkpointStream(WORKSPACE)))
    for (const { type, version, payload } of batch) {
      const event = checkpointCodec.decode(type, version, JSON.parse(payload) as Json);
      if (event) all.push(event);
    }
  return all;
}

/** Every signed checkpoint, opened with the keys that the log itself introduces. */
async function checkpointsOf(store: EventStore): Promise<SignedCheckpoint[]> {
  const signed: SignedCheckpoint[] = [];
  let [origin, vkey] = ['', ''];
  for (const event of await checkpointEvents(store)) {
    if (event.type === 'LogOpened') ({ origin, vkey } = event.data);
    else if (event.type === 'LogKeyRotated') {
      verifyRotation(origin, vkey, event.data.vkey, event.data.note);
      ({ vkey } = event.data);
    } else signed.push(openCheckpoint(event.data.note, [parseVkey(vkey)], origin));
  }
  return signed;
}

/** Every pair, by proof against the tree of a server that follows the same log. */
function assertConsistent(signed: readonly SignedCheckpoint[], { db }: Server): number {
  let pairs = 0;
  for (const [i, older] of signed.entries())
    for (const newer of signed.slice(i + 1)) {
      verifyConsistency({
        oldSize: older.size,
        newSize: newer.size,
        oldRoot: older.root,
        newRoot: newer.root,
        proof: consistencyProof(older.size, newer.size, treeOf(db, WORKSPACE)),
      });
      pairs += 1;
    }
  return pairs;
}

const refusal = async (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: unknown) => {
      if (error instanceof Refusal) return error;
      throw error;
    },
  );

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
    [one, two]: [Server, Server],
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
    const store = await openSqliteStore(dir, { clock: Date.now });
    ends.unshift(() => store.close());
    const key = newKey();
    const both: [Server, Server] = [
      await server(store, 'one', key),
      await server(store, 'two', key),
    ];
    const counts = await race(store, key, both, 30);
    expect(counts.checkpoints).toBeGreaterThan(20);
    proved('checkpoints of racing signers', counts);
  }, 60_000);

  it('P4: so do two servers of one EventStoreDB', async () => {
    const cluster = await TestEventStoreDb.start();
    ends.unshift(() => cluster.stop());
    const [first, second] = [
      await openEventStoreDb(cluster.connectionString, { clock: Date.now }),
      await openEventStoreDb(cluster.connectionString, { clock: Date.now }),
    ];
    ends.splice(1, 0, async () => {
      await first.close();
      await second.close();
    });
    const key = newKey();
    const both: [Server, Server] = [
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

describe('keys of a log', () => {
  it('a server with another key is refused, and forks nothing', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one', newKey());
    const two = await server(store, 'two', newKey());
    const position = await record(store);
    await one.receipts.issue(WORKSPACE, position, { kind: 'answer' });
    const later = await record(store);
    const refused = await refusal(two.receipts.issue(WORKSPACE, later, { kind: 'answer' }));
    expect([refused.error, refused.fix]).toEqual([
      'foreign_log_key',
      expect.stringContaining('key file'),
    ]);
    expect(two.log.status().state).toBe('foreign_key');
    await one.receipts.issue(WORKSPACE, later, { kind: 'answer' });
    expect(assertConsistent(await checkpointsOf(store), one)).toBe(1);
  });

  it('a server without a key signs nothing and says so', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one');
    const position = await record(store);
    expect((await refusal(one.receipts.issue(WORKSPACE, position, { kind: 'answer' }))).error).toBe(
      'no_log_key',
    );
    expect(one.log.status().state).toBe('no_key');
    expect(await store.end()).toBe(1);
  });

  it('a rotation is signed by the former key; receipts from before and after verify, and a crash between two logs leaves a state that goes on', async () => {
    const store = new MemoryStore(() => 1_000);
    const [old, fresh] = [newKey(), newKey()];
    const before = await server(store, 'before', old);
    const first = await before.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    await before.receipts.issue('w2', await record(store, 'w2'), { kind: 'answer' });
    // The new key is on the disk before any log is led on to it. The process dies after the first log.
    const crashed = await server(store, 'crashed', fresh, old);
    await crashed.models.settled(await store.end());
    await crashed.log.signer.open('w2');
    const after = await server(store, 'after', fresh, old);
    await after.models.settled(await store.end());
    expect(await after.log.leadOn()).toBe(true);
    expect(after.held).toEqual([fresh]);
    const second = await after.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const events = await checkpointEvents(store);
    expect(events.map(({ type }) => type)).toEqual([
      'LogOpened',
      'CheckpointSigned',
      'LogKeyRotated',
      'CheckpointSigned',
    ]);
    const keys = [old, fresh].map((key) => parseVkey(ed25519Vkey(ORIGIN, createPublicKey(key))));
    for (const receipt of [first, second]) verifyReceipt(receipt, keys);
    expect(() => verifyReceipt(second, keys.slice(0, 1))).toThrow('no known key');
    expect(assertConsistent(await checkpointsOf(store), after)).toBe(1);
    // Who was not told of the new key signs nothing any more.
    const late = await record(store);
    expect((await refusal(before.receipts.issue(WORKSPACE, late, { kind: 'answer' }))).error).toBe(
      'foreign_log_key',
    );
    // Nor does a server that has them the wrong way round turn it back.
    const stale = await server(store, 'stale', old, fresh);
    await stale.models.settled(await store.end());
    verifyReceipt(await stale.receipts.issue(WORKSPACE, late, { kind: 'answer' }), keys.slice(1));
    expect(
      (await checkpointEvents(store)).filter(({ type }) => type === 'LogKeyRotated'),
    ).toHaveLength(1);
  });

  it('where the key is lost the break is named, and what was signed before stays provable', async () => {
    const store = new MemoryStore(() => 1_000);
    const [lost, fresh] = [newKey(), newKey()];
    const before = await server(store, 'before', lost);
    const first = await before.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const after = await server(store, 'after', fresh);
    await after.models.settled(await store.end());
    expect(await after.log.replaceLost('the disk with the key burnt')).toBe(true);
    const second = await after.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const vkeys = [lost, fresh].map((key) => ed25519Vkey(ORIGIN, createPublicKey(key)));
    const opened = (await checkpointEvents(store)).filter(({ type }) => type === 'LogOpened');
    expect(opened.map(({ data }) => data)).toEqual([
      { origin: ORIGIN, vkey: vkeys[0] },
      { origin: ORIGIN, vkey: vkeys[1], replaces: vkeys[0], reason: 'the disk with the key burnt' },
    ]);
    verifyReceipt(first, vkeys.slice(0, 1).map(parseVkey));
    verifyReceipt(second, vkeys.slice(1).map(parseVkey));
    expect(assertConsistent(await checkpointsOf(store), after)).toBe(1);
    expect(sizeOf(after.db, WORKSPACE).size).toBeGreaterThan(0);
  });
});
