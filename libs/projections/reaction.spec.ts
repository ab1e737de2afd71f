import { mkdtempSync } from 'node:fs';
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
