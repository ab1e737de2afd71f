import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { words, wordSaid } from '../../test/support/words.js';
import { Follower } from './follower.js';
import { projection, when } from './projection.js';
import { rebuildMissing, type Rebuild } from './projector-rebuild.js';
import { ReadDatabase } from './read-database.js';

const said = projection(
  'said',
  1,
  { said: 'CREATE TABLE said (position INTEGER PRIMARY KEY, word TEXT NOT NULL)' },
  when(words, {
    Said(tables, data, meta) {
      if (data.word === 'poison') throw new Error('indigestible');
      tables.run('INSERT INTO said VALUES (?, ?)', meta.position, data.word);
    },
  }),
);

let dir: string;
let path: string;
let store: MemoryStore;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rebuild-'));
  path = join(dir, 'read.sqlite');
  store = new MemoryStore(() => 1_000);
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

async function say(...list: string[]): Promise<void> {
  for (const [i, word] of list.entries())
    await store.append(`s-${word}-${i}`, NO_STREAM, [wordSaid(i, word)]);
}

function rebuild(more: Partial<Rebuild> = {}): Promise<void> {
  const { signal } = new AbortController();
  return rebuildMissing({
    store,
    path,
    projections: [said],
    onProgress: () => undefined,
    signal,
    ...more,
  });
}

function digestAt(file: string): string {
  const db = ReadDatabase.openForReading(file);
  try {
    return db.digest(['said', 'checkpoint']);
  } finally {
    db.close();
  }
}

const many = Array.from({ length: 10_000 }, (_, i) => `word${i}`);

describe('rebuildMissing', () => {
  it('makes what a follower makes, byte for byte, and leaves nothing beside it', async () => {
    await say(...many);
    await rebuild();
    const other = join(dir, 'followed.sqlite');
    const db = ReadDatabase.openForWriting(other);
    await new Follower(store, db, [said]).catchUp();
    db.close();
    expect(digestAt(path)).toBe(digestAt(other));
    expect(readdirSync(dir).filter((name) => name.startsWith('read'))).toEqual(['read.sqlite']);
  });

  it('leaves read models alone that are there, and makes none of an empty log', async () => {
    await rebuild();
    expect(readdirSync(dir)).toEqual([]);
    await say('a');
    ReadDatabase.openForWriting(path).close();
    await rebuild();
    expect(readdirSync(dir)).toEqual(['read.sqlite']);
    const db = ReadDatabase.openForReading(path);
    expect(db.all('SELECT name FROM sqlite_schema')).toEqual([]);
    db.close();
  });

  it('cut short it publishes nothing; the next one begins anew', async () => {
    await say(...many);
    const stop = new AbortController();
    let batches = 0;
    await rebuild({
      signal: stop.signal,
      onProgress: () => {
        batches += 1;
        stop.abort();
      },
    });
    expect(batches).toBe(1);
    expect(readdirSync(dir)).toEqual([]);
    writeFileSync(`${path}.new`, 'what a killed one left');
    await rebuild();
    const db = ReadDatabase.openForReading(path);
    expect(db.get('SELECT count(*) AS n FROM said')).toEqual({ n: many.length });
    db.close();
  });

  it('a failing read of the log is told, and nothing is published', async () => {
    await say(...many);
    const failing: Rebuild['store'] = {
      end: () => store.end(),
      readStream: (stream, from) => store.readStream(stream, from),
      async *follow(after, options) {
        for await (const batch of store.follow(after, options)) {
          yield batch;
          throw new Error('the disk is gone');
        }
      },
    };
    await expect(rebuild({ store: failing })).rejects.toThrow('the disk is gone');
    expect(existsSync(path)).toBe(false);
  });

  it.each([
    ['shorter', ['a']],
    ['as long, and of other events', ['a', 'x', 'y']],
    ['longer, and of other events', ['x', 'y', 'z', 'b', 'c']],
  ])(
    'P3: read models of a ledger that was put back from a copy are made anew: it is %s',
    async (_, words) => {
      await say('a', 'b', 'c');
      await rebuild();
      store = new MemoryStore(() => 1_000);
      await say(...words);
      const why: string[] = [];
      await rebuild({ onUnfit: (text) => why.push(text) });
      expect(why).toEqual(['they have seen events that are not in this ledger']);
      const db = ReadDatabase.openForReading(path);
      expect(db.all('SELECT word FROM said ORDER BY position').map((row) => row['word'])).toEqual(
        words,
      );
      db.close();
    },
  );

  it('P3: those of a ledger that only went on are kept', async () => {
    await say('a', 'b');
    await rebuild();
    const db = ReadDatabase.openForWriting(path);
    db.run(`UPDATE said SET word = 'kept' WHERE word = 'a'`);
    db.close();
    await say('c');
    await rebuild({ onUnfit: (text) => expect(text).toBe('nothing') });
    const kept = ReadDatabase.openForReading(path);
    expect(kept.get('SELECT word FROM said WHERE position = 1')).toEqual({ word: 'kept' });
    kept.close();
  });

  it.each([
    ['text', () => Buffer.from('no database at all '.repeat(500))],
    ['cut in half', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
    [
      'overwritten',
      (whole: Buffer) =>
        Buffer.concat([whole.subarray(0, 100), Buffer.alloc(whole.length - 100, 7)]),
    ],
  ])('P6: a file that is %s is set aside and made anew', async (_, damage) => {
    await say(...many.slice(0, 2_000));
    await rebuild();
    const right = digestAt(path);
    writeFileSync(path, damage(readFileSync(path)));
    const why: string[] = [];
    await rebuild({ onUnfit: (text) => why.push(text) });
    expect(why).toEqual([`they were damaged and are set aside as ${path}.damaged`]);
    expect(digestAt(path)).toBe(right);
    expect(existsSync(`${path}.damaged`)).toBe(true);
  });

  it('P6: an indigestible event parks its read model, here and again in the follower that goes on', async () => {
    await say('a', 'poison', 'b');
    await rebuild();
    const db = ReadDatabase.openForWriting(path);
    expect(db.all('SELECT word FROM said')).toEqual([{ word: 'a' }]);
    const follower = new Follower(store, db, [said]);
    await follower.catchUp();
    expect(follower.statuses[0]?.parked).toMatchObject({ position: 2, reason: 'indigestible' });
    db.close();
  });

  it('is not misled by the write-ahead log of read models that were deleted', async () => {
    await say('a');
    const old = ReadDatabase.openForWriting(path);
    await new Follower(store, old, [said]).catchUp();
    // As a killed process leaves it: the log beside a database that somebody then deletes.
    rmSync(path);
    expect(readdirSync(dir).sort()).toEqual(['read.sqlite-shm', 'read.sqlite-wal']);
    await say('b', 'c');
    await rebuild();
    old.close();
    const db = ReadDatabase.openForWriting(path);
    expect(db.all('SELECT word FROM said ORDER BY position').map((r) => r['word'])).toEqual([
      'a',
      'b',
      'c',
    ]);
    db.close();
  });
});
