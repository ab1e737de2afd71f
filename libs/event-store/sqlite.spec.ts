import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { type Refusal } from '#kernel/refusal.js';
import { sha256 } from '#kernel/json.js';
import { collect, log, newEvent } from './conformance-support.js';
import { describeEventStore } from './conformance.js';
import { NO_STREAM, UnknownOutcome } from './event-store.js';
import {
  assertDurable,
  ledgerFile,
  openForReading,
  openForWriting,
  pragma,
} from './sqlite-file.js';
import { openSqliteReader, openSqliteStore, type SqliteStore } from './sqlite.js';

const START = Date.UTC(2026, 0, 31, 9);

describeEventStore('sqlite', async () => {
  const clock = { now: START };
  const dir = mkdtempSync(join(tmpdir(), 'ledger-'));
  const open = () => openSqliteStore(dir, { clock: () => clock.now });
  const ledger = {
    clock,
    store: await open(),
    async reopen() {
      await ledger.store.close();
      ledger.store = await open();
    },
    async dispose() {
      await ledger.store.close();
      rmSync(dir, { recursive: true });
    },
  };
  return ledger;
});

describe('sqlite engine', () => {
  let dir: string;
  let store: SqliteStore;
  const open = () => openSqliteStore(dir, { clock: () => START });
  const reopen = async () => {
    await store.close();
    store = await open();
  };
  /** Another connection, as an intruder or a test fault would have it. */
  const raw = <T>(work: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(ledgerFile(dir), { timeout: 5000 });
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (e: unknown) => e,
    );
  const thrown = (work: () => unknown): unknown => {
    try {
      work();
    } catch (error) {
      return error;
    }
    return undefined;
  };

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'ledger-'));
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('P4: the file refuses to change or remove an event or a stream', async () => {
    await store.append('s', NO_STREAM, [newEvent()]);
    await store.putBlobs([{ hash: sha256('a'), bytes: Buffer.from('a') }]);
    for (const sql of [
      "UPDATE event SET payload = '2'",
      'DELETE FROM event',
      "UPDATE stream SET name = 't'",
      'DELETE FROM stream',
      "UPDATE blob SET bytes = x'00'",
    ])
      expect(() => raw((db) => db.exec(sql))).toThrow('append-only');
  });

  it('P1: every open sets synchronous=FULL and WAL, and anything less does not start', () => {
    const other = mkdtempSync(join(dir, 'other-'));
    for (let i = 0; i < 2; i++) {
      const db = openForWriting(other);
      expect(pragma(db, 'synchronous')).toBe(2);
      expect(pragma(db, 'journal_mode')).toBe('wal');
      db.exec('PRAGMA synchronous=NORMAL');
      expect(() => {
        assertDurable(db);
      }).toThrow('would not be durable');
      db.close();
    }
  });

  it('P3: positions are 1, 2, 3 … without a gap, also after refused appends and a reopening', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => store.append('s', i - 1, [newEvent()]));
    await Promise.all(ids);
    await Promise.allSettled(ids.map((_, i) => store.append('s', i, [newEvent()])));
    await reopen();
    await store.append('t', NO_STREAM, [newEvent(), newEvent()]);
    const positions = (await log(store)).map((e) => e.position);
    expect(positions).toEqual(positions.map((_, i) => i + 1));
  });

  it('a wrong revision, a reused id and a false blob harm no other request of their transaction', async () => {
    const first = newEvent();
    await store.append('s', NO_STREAM, [first]);
    const settled = await Promise.allSettled([
      store.append('a', NO_STREAM, [newEvent()]),
      store.append('s', 7, [newEvent()]),
      store.append('s', NO_STREAM, [{ ...first, payload: '{"n":2}' }]),
      store.putBlobs([{ hash: sha256('a'), bytes: Buffer.from('b') }]),
      store.append('s', 0, [newEvent()]),
      store.append('a', 0, [newEvent()]),
    ]);
    expect(settled.map((s) => s.status === 'fulfilled')).toEqual([
      true,
      false,
      false,
      false,
      true,
      true,
    ]);
    expect(await store.end()).toBe(4);
  });

  it('P1: appends that wait together share a transaction', async () => {
    let commits = 0;
    store.onCommit(() => commits++);
    await Promise.all(
      Array.from({ length: 1_200 }, (_, i) => store.append(`s${i}`, NO_STREAM, [newEvent()])),
    );
    expect(commits).toBeGreaterThanOrEqual(3); // at most 512 in each
    expect(commits).toBeLessThan(20);
  });

  it('one process owns the directory; the refusal names it, and readers need no lock', async () => {
    await store.append('s', NO_STREAM, [newEvent()]);
    const error = await failure(open());
    expect(error).toMatchObject({ kind: 'unavailable', error: 'ledger_in_use' });
    expect((error as Refusal).message).toContain(`process ${process.pid} on `);
    const reader = openSqliteReader(dir);
    expect(await log(reader)).toHaveLength(1);
    await reader.close();
    await store.close();
    // A note that a dead process left behind is no lock.
    writeFileSync(join(dir, 'lock.json'), '{"pid":999999,"host":"gone"}\n');
    store = await open();
    expect(JSON.parse(readFileSync(join(dir, 'lock.json'), 'utf8'))).toMatchObject({
      pid: process.pid,
    });
  });

  it('a reader of another connection sees commits when woken, and without by looking', async () => {
    const reader = openSqliteReader(dir);
    const stop = new AbortController();
    const seen: number[] = [];
    const following = (async () => {
      for await (const batch of reader.follow(0, { signal: stop.signal, live: true }))
        seen.push(...batch.map((e) => e.position));
    })();
    await store.append('s', NO_STREAM, [newEvent()]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(seen).toEqual([1]);
    store.onCommit(() => {
      reader.wake();
    });
    await store.append('s', 0, [newEvent()]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen).toEqual([1, 2]);
    expect(await collect(reader.readStream('s'))).toHaveLength(2);
    await reader.close();
    await following;
  });

  it('a reader cannot write, and refuses what is no ledger', () => {
    const db = openForReading(dir);
    expect(() => {
      db.exec('CREATE TABLE t (x)');
    }).toThrow();
    db.close();
    const empty = mkdtempSync(join(dir, 'x-'));
    expect(thrown(() => openSqliteReader(empty))).toMatchObject({ error: 'no_ledger' });
    writeFileSync(
      ledgerFile(empty),
      'not a database, but longer than the header of one '.repeat(9),
    );
    expect(thrown(() => openSqliteReader(empty))).toMatchObject({ error: 'not_a_ledger' });
  });

  it('refuses a ledger of a later layout and leaves its bytes as they are', async () => {
    await store.append('s', NO_STREAM, [newEvent()]);
    await store.close();
    raw((db) => {
      db.exec('PRAGMA user_version = 2');
    });
    const before = readFileSync(ledgerFile(dir));
    expect(await failure(open())).toMatchObject({ kind: 'unavailable', error: 'newer_ledger' });
    expect(readFileSync(ledgerFile(dir)).equals(before)).toBe(true);
    raw((db) => {
      db.exec('PRAGMA user_version = 1');
    });
    store = await open();
    expect(await store.end()).toBe(1);
  });

  it('P6: a failure before the commit stores nothing of the transaction, and later writes work', async () => {
    raw((db) => {
      db.exec(`CREATE TRIGGER fault BEFORE INSERT ON event WHEN NEW.payload = '"fault"'
               BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`);
    });
    const all = await Promise.all([
      failure(store.append('a', NO_STREAM, [newEvent()])),
      failure(store.append('b', NO_STREAM, [newEvent({ payload: '"fault"' })])),
    ]);
    for (const error of all)
      expect(error).toMatchObject({ kind: 'unavailable', error: 'storage_error' });
    expect(await store.end()).toBe(0);
    expect(await store.append('a', NO_STREAM, [newEvent()])).toMatchObject({
      position: 1,
      revision: 0,
    });
  });

  it('B05 P7: an error of the commit is an unknown outcome; writing stops, reading goes on, a retry after reopening settles it', async () => {
    await store.append('s', NO_STREAM, [newEvent()]);
    raw((db) => {
      db.exec(`CREATE TABLE parent (id INTEGER PRIMARY KEY);
               CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
               CREATE TRIGGER fault AFTER INSERT ON event WHEN NEW.payload = '"fault"'
               BEGIN INSERT INTO child VALUES (1); END`);
    });
    const event = newEvent({ payload: '"fault"' });
    expect(await failure(store.append('s', 0, [event]))).toBeInstanceOf(UnknownOutcome);
    const refused = await failure(store.append('s', 0, [newEvent()]));
    expect(refused).toMatchObject({ kind: 'unavailable', error: 'store_closed_for_writing' });
    expect((refused as Refusal).fix).toContain('retry with the same ids');
    expect(await log(store)).toHaveLength(1);
    raw((db) => {
      db.exec('DROP TRIGGER fault');
    });
    await reopen();
    await store.append('s', 0, [event]);
    await store.append('s', 0, [event]);
    expect((await log(store)).filter((e) => e.id === event.id)).toHaveLength(1);
  });

  it('B05 P7: the writer dies with appends in flight: unknown outcome, settled by a retry after reopening', async () => {
    const events = Array.from({ length: 300 }, () => newEvent());
    const send = () =>
      Promise.all(
        events.map((event, i) =>
          failure(store.append(`s${i % 50}`, Math.floor(i / 50) - 1, [event])),
        ),
      );
    const sent = send();
    await new Promise((resolve) => setImmediate(resolve));
    await (store as unknown as { worker: Worker }).worker.terminate();
    const outcomes = await sent;
    expect(outcomes.some((e) => e instanceof UnknownOutcome)).toBe(true);
    for (const e of outcomes) expect(e === undefined || e instanceof UnknownOutcome).toBe(true);
    expect(await failure(store.append('s', 0, [newEvent()]))).toMatchObject({
      error: 'store_closed_for_writing',
    });
    await reopen();
    expect(await send()).toEqual(events.map(() => undefined));
    const ids = (await log(store)).map((e) => e.id);
    expect([...ids].sort()).toEqual(events.map((e) => e.id).sort());
  });
});
