import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { t } from '#kernel/schema.js';
import { ERASED, subjectKey } from '#kernel/sealing.js';
import { codec } from '#kernel/vocabulary.js';
import { TestEventStoreDb } from '../../test/support/eventstoredb-server.js';
import { openEventStoreDb, type EventStoreDbStore } from './eventstoredb.js';
import { Sealing } from './sealing.js';
import { SharedKeys } from './shared-keys.js';
import { openKeys } from './sqlite-keys.js';
import { Streams, type Origin } from './streams.js';

const says = codec({
  Said: {
    version: 1,
    schema: t.Object({ text: t.String(), keys: t.Array(t.String()) }),
    personal: ['text'],
  },
});
const kind = {
  codec: says,
  decider: {
    initial: (): string[] => [],
    decide: (text: string) => [
      { type: 'Said' as const, data: { text, keys: [subjectKey('w', 's1')] } },
    ],
    evolve: (all: string[], { data }: { data: { text: string } }) => [...all, data.text],
  },
};
const origin = (command: string): Origin => ({
  workspace: 'w',
  actor: { principal: 'ada', kind: 'person', credential: null },
  command,
  correlation: command,
});

interface Server {
  dir: string;
  store: EventStoreDbStore;
  keys: SharedKeys;
  sealing: Sealing;
  streams: Streams;
}

let cluster: TestEventStoreDb;
const servers: Server[] = [];

async function server(): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), 'shared-keys-'));
  const store = await openEventStoreDb(cluster.connectionString, { clock: Date.now });
  const keys = SharedKeys.open(store.keys, (make) => openKeys(dir, { make }));
  store.beforeReading((events) => keys.learn(events));
  const sealing = new Sealing(keys);
  const one = { dir, store, keys, sealing, streams: new Streams(store, { shared: true }, sealing) };
  servers.push(one);
  return one;
}

let [a, b] = [undefined, undefined] as unknown as [Server, Server];
beforeAll(async () => {
  cluster = await TestEventStoreDb.start();
  [a, b] = [await server(), await server()];
});
afterAll(async () => {
  for (const { dir, store, keys } of servers) {
    await store.close();
    await keys.close();
    rmSync(dir, { recursive: true, force: true });
  }
  await cluster.stop();
});

describe('keys that the servers of a cluster share', () => {
  it('are the same on all of them, whoever makes them and however many at once', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => subjectKey('w', `r-${i}`));
    await Promise.all([a.keys.ensure(ids), b.keys.ensure(ids), a.keys.ensure(ids.slice(7))]);
    const of = ({ keys }: Server): string[] =>
      ids.map((id) => Buffer.from(keys.key(id) as Uint8Array).toString('hex'));
    expect(of(a)).toEqual(of(b));
    expect(new Set(of(a)).size).toBe(ids.length);
  });

  it('are there before anybody reads what they seal, and are kept for the next start', async () => {
    await a.streams.execute(kind, 'x', 'Zyxq', origin('c-1'));
    expect(cluster.log.all.some((e) => Buffer.from(e.data).includes('Zyxq'))).toBe(false);
    expect((await b.streams.load(kind, 'x')).state).toEqual(['Zyxq']);
    const late = await server();
    for await (const events of late.store.follow(0, {
      signal: new AbortController().signal,
      live: false,
    }))
      for (const event of events)
        expect(late.sealing.opener.json(event.payload)).toContain('"text":"Zyxq"');
    expect(late.keys.count().keys).toBe(1);
  });

  it('a lost answer of the cluster makes no second key', async () => {
    const ids = ['store-then-stall', 'store-then-unavailable', 'unavailable'] as const;
    for (const fault of ids) {
      const id = subjectKey('w', fault);
      cluster.inject(fault);
      await a.keys.ensure([id]);
      await b.keys.ensure([id]);
      expect(b.keys.key(id)).toEqual(a.keys.key(id));
    }
  });

  it('B48: a destroyed one is gone from the cluster and its bytes with it, on every server that learns of it', async () => {
    const key = subjectKey('w', 's1');
    const bytes = Buffer.from(a.keys.key(key) as Uint8Array);
    const held = (): number =>
      cluster.log.all.filter((e) => Buffer.from(e.data).includes(bytes)).length;
    expect(held()).toBe(1);
    await a.sealing.destroy(key);
    await a.sealing.destroy(key);
    expect(held()).toBe(0);
    expect((await a.streams.load(kind, 'x')).state).toEqual([ERASED]);
    // The other one still has its copy until it is told; a new one never gets it, nor does anybody make it again.
    await b.sealing.destroy(key);
    expect((await b.streams.load(kind, 'x')).state).toEqual([ERASED]);
    const late = await server();
    await late.keys.ensure([key]);
    expect(late.keys.key(key)).toBe('erased');
    expect((await late.streams.load(kind, 'x')).state).toEqual([ERASED]);
    await expect(a.streams.execute(kind, 'x', 'again', origin('c-2'))).rejects.toMatchObject({
      error: 'subject_erased',
    });
  });

  it('B48: one that was never made can be destroyed, and stays so', async () => {
    const key = subjectKey('w', 'never');
    await a.sealing.destroy(key);
    await b.keys.ensure([key]);
    expect(b.keys.key(key)).toBe('erased');
  });
});
