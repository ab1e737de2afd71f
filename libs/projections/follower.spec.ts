import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM, type NewEvent } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { words, wordSaid } from '../../test/support/words.js';
import { Follower } from './follower.js';
import { projection, when, type Projection } from './projection.js';
import { ReadDatabase } from './read-database.js';

function said(version: number, onWord: (word: string) => void = () => undefined): Projection {
  return projection(
    'said',
    version,
    { said: 'CREATE TABLE said (position INTEGER PRIMARY KEY, word TEXT NOT NULL)' },
    when(words, {
      Said(tables, data, meta) {
        tables.run('INSERT INTO said VALUES (?, ?)', meta.position, data.word);
        onWord(data.word);
      },
    }),
  );
}

const count = projection(
  'count',
  1,
  { counted: 'CREATE TABLE counted (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)' },
  when(words, {
    Said(tables) {
      tables.run('INSERT INTO counted VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = n + 1');
    },
  }),
);

let store: MemoryStore;
let db: ReadDatabase;
let path: string;
beforeEach(() => {
  store = new MemoryStore(() => 1_000);
  path = join(mkdtempSync(join(tmpdir(), 'follower-')), 'read.sqlite');
  db = ReadDatabase.openForWriting(path);
});
afterEach(() => {
  db.close();
});

let next = 0;
async function say(...list: string[]): Promise<void> {
  for (const word of list) {
    next += 1;
    await store.append(`s${next}`, NO_STREAM, [wordSaid(next, word)]);
  }
}

const heard = (): unknown[] =>
  db.all('SELECT word FROM said ORDER BY position').map((r) => r['word']);
const counted = (): unknown => db.get('SELECT n FROM counted')?.['n'];

describe('Follower', () => {
  it('applies the log once, and goes on from its checkpoint after a restart', async () => {
    await say('a', 'b');
    await new Follower(store, db, [said(1), count]).catchUp();
    await say('c');
    const again = new Follower(store, db, [said(1), count]);
    expect(again.position).toBe(2);
    await again.catchUp();
    expect(heard()).toEqual(['a', 'b', 'c']);
    expect(counted()).toBe(3);
  });

  it('a raised version rebuilds that read model from the first event and leaves the others', async () => {
    await say('a', 'b');
    await new Follower(store, db, [said(1), count]).catchUp();
    db.run(`INSERT INTO said VALUES (99, 'stale')`);
    await new Follower(store, db, [said(2), count]).catchUp();
    expect(heard()).toEqual(['a', 'b']);
    expect(counted()).toBe(2);
  });

  it('P5: a rebuild gives the same bytes, and order of batches does not matter', async () => {
    await say('a', 'b', 'c');
    await new Follower(store, db, [said(1), count]).catchUp();
    const first = db.digest(['said', 'counted']);
    const fresh = ReadDatabase.openForWriting(`${path}.2`);
    await new Follower(store, fresh, [count, said(1)]).catchUp();
    expect(fresh.digest(['counted', 'said'])).toBe(first);
    fresh.close();
  });

  it('effect and checkpoint commit together: a crash inside a batch repeats nothing', async () => {
    await say('a', 'b', 'c');
    let dead = true;
    const dying = said(1, (word) => {
      if (dead && word === 'b') throw new Error('killed');
    });
    await new Follower(store, db, [dying]).catchUp();
    expect(heard()).toEqual(['a']);
    dead = false;
    await new Follower(store, db, [dying]).catchUp();
    expect(heard()).toEqual(['a', 'b', 'c']);
  });

  it('B29: a poisoned event parks its read model before it and shows; the others go on', async () => {
    await say('a', 'poison', 'c');
    const picky = said(1, (word) => {
      if (word === 'poison') throw new Error('cannot digest');
    });
    const follower = new Follower(store, db, [picky, count]);
    await follower.catchUp();
    await say('d');
    await follower.catchUp();
    expect(heard()).toEqual(['a']);
    expect(counted()).toBe(4);
    expect(follower.statuses[0]).toMatchObject({
      name: 'said',
      position: 1,
      parked: { position: 2, reason: 'cannot digest' },
    });
    const kept = db.all('SELECT name, position FROM checkpoint ORDER BY name');
    expect(kept.map(({ name, position }) => [name, position])).toEqual([
      ['count', 4],
      ['said', 1],
    ]);
  });

  it('unknown event types only move the checkpoint', async () => {
    await say('a');
    await store.append('other', NO_STREAM, [
      {
        id: '00000000-0000-4000-9000-000000000001',
        type: 'FromTheFuture',
        version: 7,
        workspace: 'w',
        actor: { principal: 'ann', kind: 'person', credential: null },
        causation: 'c',
        correlation: 'c',
        payload: '{}',
      },
    ]);
    const follower = new Follower(store, db, [said(1)]);
    await follower.catchUp();
    expect(follower.position).toBe(2);
  });

  it('B22: recorded time never decreases for readers, also after a restart between two writers\u2019 stamps', async () => {
    const seen: string[] = [];
    const times = projection(
      'times',
      1,
      { times: 'CREATE TABLE times (position INTEGER PRIMARY KEY)' },
      when(words, {
        Said(_tables, _data, meta) {
          seen.push(meta.recordedAt);
        },
      }),
    );
    const stamped = (at: string) => ({
      async *follow(after: number) {
        await Promise.resolve();
        const all = [];
        for await (const batch of store.follow(after, {
          live: false,
          signal: new AbortController().signal,
        }))
          all.push(...batch.map((e) => ({ ...e, recordedAt: at })));
        yield all;
      },
    });
    await say('a');
    await new Follower(stamped('2026-01-02T00:00:00.000Z'), db, [times]).catchUp();
    await say('b');
    await new Follower(stamped('2026-01-01T00:00:00.000Z'), db, [times]).catchUp();
    expect(seen).toEqual(['2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z']);
  });

  it('QO-3: an append that a restart cuts in two stays one', async () => {
    const firsts: number[] = [];
    const appends = projection(
      'appends',
      1,
      { appends: 'CREATE TABLE appends (position INTEGER PRIMARY KEY)' },
      when(words, {
        Said(_tables, _data, meta) {
          firsts.push(meta.append);
        },
      }),
    );
    const [a, b, c, d, e] = [1, 2, 3, 4, 5].map((n) => wordSaid(n, 'word'));
    await store.append('one', NO_STREAM, [a, b, c] as NewEvent[]);
    await store.append('two', NO_STREAM, [d] as NewEvent[]);
    await store.append('two', 0, [{ ...e, causation: 'another' }] as NewEvent[]);
    const inTwos = {
      async *follow(after: number) {
        const options = { live: false, signal: new AbortController().signal };
        for await (const batch of store.follow(after, options)) {
          yield batch.slice(0, 2);
          return;
        }
      },
    };
    for (let start = 0; start < 3; start++) await new Follower(inTwos, db, [appends]).catchUp();
    expect(firsts).toEqual([1, 1, 1, 4, 5]);
  });

  it('P6: what a full disk refused at first is taken as if it never had', async () => {
    let ms = 0;
    const timed = new MemoryStore(() => (ms += 1_000));
    const words3 = [1, 2, 3].map((n) => wordSaid(n, 'word'));
    await timed.append('one', NO_STREAM, words3.slice(0, 1));
    await timed.append('two', NO_STREAM, words3.slice(1));
    const taken = async (refusals: number): Promise<unknown[]> => {
      const places = projection(
        'places',
        1,
        { places: 'CREATE TABLE places (position INTEGER PRIMARY KEY, at TEXT, first INTEGER)' },
        when(words, {
          Said(tables, _data, meta) {
            const { position, recordedAt, append } = meta;
            tables.run('INSERT INTO places VALUES (?, ?, ?)', position, recordedAt, append);
            if (position === 3 && refusals-- > 0)
              throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
          },
        }),
      );
      const fresh = ReadDatabase.openForWriting(':memory:');
      const follower = new Follower(timed, fresh, [places]);
      const running = follower.start();
      while (follower.position < 3) await new Promise((resolve) => setTimeout(resolve, 5));
      await follower.close();
      await running;
      const rows = fresh.all('SELECT * FROM places, checkpoint');
      fresh.close();
      return rows;
    };
    const never = await taken(0);
    expect(never.map((row) => (row as { first: number }).first)).toEqual([1, 2, 2]);
    expect(await taken(1)).toEqual(never);
  });

  it.each([
    ['of an older form', 'name TEXT PRIMARY KEY, version INTEGER, position INTEGER'],
    [
      'of a read model that is none any more',
      'name TEXT PRIMARY KEY, version INTEGER, position INTEGER, recorded_at TEXT, place TEXT',
    ],
  ])('P5: of a file with checkpoints %s nothing is left', async (_, columns) => {
    db.exec(`CREATE TABLE checkpoint (${columns}); CREATE TABLE forgotten (word TEXT)`);
    db.run(`INSERT INTO checkpoint (name, version, position) VALUES ('forgotten', 1, 0)`);
    await say('a');
    await new Follower(store, db, [said(1)]).catchUp();
    expect(heard()).toEqual(['a']);
    const tables = db.all(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`);
    expect(tables.map(({ name }) => name)).toEqual(['checkpoint', 'said']);
    expect(db.all('SELECT name, position FROM checkpoint')).toEqual([
      { name: 'said', position: 1 },
    ]);
  });

  it('follows live until closed', async () => {
    const follower = new Follower(store, db, [said(1)]);
    const running = follower.start();
    await say('live');
    while (heard().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(heard()).toEqual(['live']);
    await follower.close();
    await running;
  });
});
