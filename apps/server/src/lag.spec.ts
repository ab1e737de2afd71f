import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_STREAM } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { projection, when } from '#projections/projection.js';
import { projectHere, type Projector } from '#projections/projector.js';
import { Reactor, reaction } from '#projections/reaction.js';
import { words, wordSaid } from '../../../test/support/words.js';
import { LagWatch } from './lag.js';

describe('how far followers are behind', () => {
  let dir: string;
  let store: MemoryStore;
  let projector: Projector;
  let reactor: Reactor;
  let watch: LagWatch;
  let letGo: () => void;

  const say = (word: string) =>
    store.append(`word-${word}`, NO_STREAM, [wordSaid(Number(word), word)]);
  const lagOf = async (name: string) => (await watch.read()).find((lag) => lag.name === name);

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lag-'));
    store = new MemoryStore(() => 1_000);
    const good = projection('good', 1, {}, when(words, { Said: () => undefined }));
    const picky = projection(
      'picky',
      1,
      {},
      when(words, {
        Said(_tables, { word }) {
          if (word === '2') throw new Error('not this one');
        },
      }),
    );
    projector = await projectHere(store, join(dir, 'read.sqlite'), [good, picky], {
      onFailure: (error) => {
        throw error;
      },
    });
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const slow = reaction('slow', words, 'Said', () => held);
    reactor = new Reactor(store, join(dir, 'reactions.sqlite'), [slow], () => undefined);
    reactor.start();
    watch = new LagWatch(() => store.end(), projector, reactor);
  });
  afterEach(async () => {
    letGo();
    watch.close();
    await reactor.close();
    await projector.close();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('counts positions and the time since the log passed a follower, until it has caught up', async () => {
    expect(await lagOf('reactions')).toMatchObject({ position: 0, lag: 0, lag_seconds: 0 });
    for (const word of ['1', '3', '4']) await say(word);
    await projector.reach(await store.end());
    expect(await lagOf('reactions')).toMatchObject({ position: 0, lag: 3 });
    await delay(400);
    const behind = await lagOf('reactions');
    expect(behind).toMatchObject({ position: 0, lag: 3 });
    expect(behind?.lag_seconds).toBeGreaterThanOrEqual(0.4);
    expect(behind?.lag_seconds).toBeLessThan(30);
    expect(await lagOf('good')).toMatchObject({ lag: 0, lag_seconds: 0 });
    letGo();
    for (let i = 0; i < 200 && reactor.position < 3; i++) await delay(10);
    expect(await lagOf('reactions')).toMatchObject({ position: 3, lag: 0, lag_seconds: 0 });
  });

  it('a parked read model stays behind and says why; a store that cannot be asked hides nothing', async () => {
    for (const word of ['1', '2', '3']) await say(word);
    for (let i = 0; i < 200 && (await lagOf('good'))?.lag !== 0; i++) await delay(10);
    expect(await lagOf('picky')).toMatchObject({
      position: 1,
      lag: 2,
      parked: { position: 2, reason: 'not this one' },
    });
    watch.close();
    let isCut = false;
    watch = new LagWatch(
      () => (isCut ? Promise.reject(new Error('cut')) : store.end()),
      projector,
      reactor,
    );
    await watch.read();
    isCut = true;
    expect(await lagOf('picky')).toMatchObject({ lag: 2 });
  });
});
