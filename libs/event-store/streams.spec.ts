import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';
import { WrongExpectedRevision, type EventStore } from './event-store.js';
import { MemoryStore } from './memory.js';
import { Streams, type Origin } from './streams.js';

const vocabulary = {
  Counted: { version: 1, schema: t.Object({ to: t.Integer() }) },
} as const;
type Counted = EventOf<typeof vocabulary>;

const counter: Decider<{ n: number; at: number }, 'count' | 'nothing' | 'refuse', Counted> = {
  initial: () => ({ n: 0, at: 0 }),
  decide(command, { n }) {
    if (command === 'refuse') throw new Refusal('conflict', 'no', 'no');
    return command === 'count' ? [{ type: 'Counted', data: { to: n + 1 } }] : [];
  },
  evolve: (_state, event, at) => ({ n: event.data.to, at }),
};
const kind = { decider: counter, codec: codec(vocabulary) };
const origin = (command: string): Origin => ({
  workspace: 'w',
  actor: { principal: 'ann', kind: 'person', credential: null },
  command,
  correlation: command,
});

let store: MemoryStore;
let streams: Streams;
beforeEach(() => {
  store = new MemoryStore(() => 1_000);
  streams = new Streams(store);
});

async function logged(from: EventStore): Promise<{ id: string; revision: number }[]> {
  const all = [];
  for await (const batch of from.readStream('s')) all.push(...batch);
  return all.map(({ id, revision }) => ({ id, revision }));
}

describe('Streams.execute', () => {
  it('loads, decides, appends and folds what it appended', async () => {
    const done = await streams.execute(kind, 's', 'count', origin('c1'));
    expect(done).toMatchObject({ state: { n: 1, at: 1_000 }, revision: 0, position: 1 });
    expect(done.events).toEqual([{ type: 'Counted', data: { to: 1 } }]);
    expect(streams.acknowledged).toBe(1);
  });

  it('appends nothing when nothing follows and when the command is refused', async () => {
    expect((await streams.execute(kind, 's', 'nothing', origin('c'))).events).toEqual([]);
    await expect(streams.execute(kind, 's', 'refuse', origin('c'))).rejects.toThrow(Refusal);
    expect(await store.end()).toBe(0);
  });

  it('P3: 200 commands at once on one stream are decided one after the other', async () => {
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => streams.execute(kind, 's', 'count', origin(`c${i}`))),
    );
    expect((await streams.load(kind, 's')).state.n).toBe(200);
  });

  it('P3: two processes on one store never overwrite each other; the loser decides again', async () => {
    const other = new Streams(store);
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 ? streams : other).execute(kind, 's', 'count', origin(`c${i}`)),
      ),
    );
    expect((await new Streams(store).load(kind, 's')).state.n).toBe(60);
    expect(new Set((await logged(store)).map((e) => e.id)).size).toBe(60);
  });

  it('P3: on a shared store a command is decided on what other processes have appended, not on a stale state', async () => {
    const [here, there] = [
      new Streams(store, { shared: true }),
      new Streams(store, { shared: true }),
    ];
    await here.execute(kind, 's', 'count', origin('c1'));
    await there.execute(kind, 's', 'count', origin('c2'));
    expect((await here.load(kind, 's')).state.n).toBe(2);
    expect((await here.execute(kind, 's', 'count', origin('c3'))).state.n).toBe(3);
  });

  it('P7: the same command at the same revision has the same event ids', async () => {
    await streams.execute(kind, 's', 'count', origin('same'));
    const elsewhere = new MemoryStore(() => 1);
    await new Streams(elsewhere).execute(kind, 's', 'count', origin('same'));
    expect(await logged(elsewhere)).toEqual(await logged(store));
  });

  it('a failed append leaves no trace in the cached state', async () => {
    await streams.execute(kind, 's', 'count', origin('c1'));
    const failing = Object.assign(Object.create(store) as MemoryStore, {
      append: () => Promise.reject(new Error('disk')),
    });
    const broken = new Streams(failing);
    await expect(broken.execute(kind, 's', 'count', origin('c2'))).rejects.toThrow('disk');
    expect((await broken.load(kind, 's')).state.n).toBe(1);
  });

  it('gives up as busy when it loses every race', async () => {
    const contested = Object.assign(Object.create(store) as MemoryStore, {
      append: () => Promise.reject(new WrongExpectedRevision('s', -1, 5)),
    });
    await expect(
      new Streams(contested).execute(kind, 's', 'count', origin('c')),
    ).rejects.toMatchObject({
      error: 'busy',
    });
  });

  it('refuses to store an event that its own schema rejects', async () => {
    const wrong = {
      ...kind,
      decider: { ...counter, decide: () => [{ type: 'Counted', data: { to: 1.5 } } as Counted] },
    };
    await expect(streams.execute(wrong, 's', 'count', origin('c'))).rejects.toThrow(
      'does not fit its schema',
    );
    expect(await store.end()).toBe(0);
  });
});
