import { describe, expect, it } from '@jest/globals';
import { newEvent } from './conformance-support.js';
import { NO_STREAM } from './event-store.js';
import { MemoryStore } from './memory.js';

/** Sizes of the batches in which three appends of three events are followed. */
async function sizes(batch: number, live: boolean): Promise<number[]> {
  const store = new MemoryStore(() => 0);
  for (const causation of ['a', 'b', 'c'])
    await store.append(
      `stream-${causation}`,
      NO_STREAM,
      [1, 2, 3].map(() => newEvent({ causation })),
    );
  const stop = new AbortController();
  const found: number[] = [];
  for await (const events of store.follow(0, { signal: stop.signal, live, batch })) {
    found.push(events.length);
    if (found.reduce((n, size) => n + size, 0) === 9) stop.abort();
  }
  await store.close();
  return found;
}

describe('followers', () => {
  it.each([true, false])(
    'get an append at once where a batch can hold it (live: %s)',
    async (live) => {
      expect(await sizes(4, live)).toEqual([3, 3, 3]);
      expect(await sizes(7, live)).toEqual([6, 3]);
      expect(await sizes(100, live)).toEqual([9]);
    },
  );

  it.each([true, false])(
    'get one that is longer than a batch in parts (live: %s)',
    async (live) => {
      expect(await sizes(2, live)).toEqual([2, 1, 2, 1, 2, 1]);
    },
  );
});
