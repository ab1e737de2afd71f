import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { words, wordSaid } from '../../test/support/words.js';
import { Reactor, reaction } from './reaction.js';

let store: MemoryStore;
let path: string;
let handled: string[];
let gaveUp: number[];
beforeEach(() => {
  store = new MemoryStore(() => 1_000);
  path = join(mkdtempSync(join(tmpdir(), 'reactor-')), 'reactions.sqlite');
  handled = [];
  gaveUp = [];
});

let next = 0;
async function say(word: string): Promise<void> {
  next += 1;
  await store.append(`s${next}`, NO_STREAM, [wordSaid(next, word)]);
}

function reactor(fails: (word: string, attempt: number) => boolean = () => false): Reactor {
  const attempts = new Map<string, number>();
  const echo = reaction('echo', words, 'Said', async ({ word }) => {
    const attempt = (attempts.get(word) ?? 0) + 1;
    attempts.set(word, attempt);
    if (fails(word, attempt)) throw new Error('not now');
    handled.push(word);
    await Promise.resolve();
  });
  return new Reactor(
    store,
    path,
    [echo],
    (_name, position) => {
      gaveUp.push(position);
    },
    [1, 2],
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('Reactor', () => {
  it('handles events in order and, after a restart, only what is new (B27)', async () => {
    await say('a');
    await say('b');
    const first = reactor();
    first.start();
    await until(() => handled.length === 2);
    await first.close();
    await say('c');
    const second = reactor();
    second.start();
    await until(() => handled.length === 3);
    await second.close();
    expect(handled).toEqual(['a', 'b', 'c']);
  });

  it('P3: in a ledger that was put back from a copy, what is written now is not taken for done', async () => {
    for (const word of ['a', 'b', 'c']) await say(word);
    const before = reactor();
    before.start();
    await until(() => handled.length === 3);
    await before.close();
    store = new MemoryStore(() => 1_000);
    await say('d');
    const after = reactor();
    after.start();
    await until(() => handled.length === 4);
    await say('e');
    await until(() => handled.length === 5);
    await after.close();
    expect(handled.slice(3)).toEqual(['d', 'e']);
  });

  it('P6: a file of reactions that is none is set aside, and everything delivered once more', async () => {
    await say('a');
    writeFileSync(path, 'no database at all '.repeat(500));
    const r = reactor();
    r.start();
    await until(() => handled.length === 1);
    await r.close();
    expect(existsSync(`${path}.damaged`)).toBe(true);
  });

  it('B29: retries, and what fails for good is left to an operator while the next ones go on', async () => {
    for (const word of ['a', 'shaky', 'broken', 'd']) await say(word);
    const r = reactor((word, attempt) => word === 'broken' || (word === 'shaky' && attempt < 3));
    r.start();
    await until(() => handled.includes('d'));
    await r.close();
    expect(handled).toEqual(['a', 'shaky', 'd']);
    expect(gaveUp).toEqual([3]);
  });
});
