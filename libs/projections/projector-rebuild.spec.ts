import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM, type EventStore } from '#event-store/event-store.js';
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
    writeFileSync(path, 'as it was');
    await rebuild();
    expect(readdirSync(dir)).toEqual(['read.sqlite']);
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
    const failing: Pick<EventStore, 'follow' | 'end'> = {
      end: () => store.end(),
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
