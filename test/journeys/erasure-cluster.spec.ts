import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openKeysForReading } from '#event-store/sqlite-keys.js';
import { TestApplication } from '../support/application.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';
import { filesBelow, formsOf, traces } from '../support/traces.js';

const MARKER = 'Zyxq Personne 4711';
type Body = Record<string, unknown>;

let cluster: TestEventStoreDb;
const running = new Set<TestApplication>();
const folders: string[] = [];

async function start(dir = mkdtempSync(join(tmpdir(), 'precedent-erasing-'))) {
  if (!folders.includes(dir)) folders.push(dir);
  const server = await TestApplication.start({
    PRECEDENT_EVENTSTORE: cluster.connectionString,
    PRECEDENT_DATA: dir,
  });
  running.add(server);
  return server;
}

async function stop(server: TestApplication): Promise<void> {
  running.delete(server);
  await server.close();
}

beforeAll(async () => {
  cluster = await TestEventStoreDb.start();
}, 60_000);
afterAll(async () => {
  await Promise.all([...running].map(stop));
  await cluster.stop();
  for (const dir of folders) rmSync(dir, { recursive: true, force: true });
});

async function story(server: TestApplication, subject: string): Promise<string> {
  const job = await server.ingest({
    source: { title: `About ${MARKER}`, type: 'note', text: `${MARKER} is ${subject}.`, subject },
    records: [
      {
        topic: `of-${subject}`,
        statement: `${MARKER} is ${subject}`,
        status: 'approved',
        evidence: [{ quote: `${MARKER} is ${subject}.` }],
      },
    ],
  });
  return String(job['position']);
}

const told = async (
  server: TestApplication,
  subject: string,
  at_least?: string,
): Promise<string> => {
  const axes = at_least === undefined ? {} : { at_least };
  const asked = [
    { question: 'q', topic: `of-${subject}` },
    { question: `What is ${MARKER}, ${subject}?` },
  ];
  const replies = [];
  for (const one of asked)
    replies.push((await server.call('POST', '/v1/answers', { ...one, ...axes })).body);
  return JSON.stringify(replies);
};

function keyIn(dir: string, id: string): Uint8Array | 'erased' | undefined {
  const reader = openKeysForReading(dir);
  const key = reader?.key(id);
  void reader?.close();
  return typeof key === 'object' ? Uint8Array.from(key) : key;
}

const erase = async (server: TestApplication, subject: string): Promise<Body> => {
  const reply = await server.call('POST', '/v1/erasures', { subject, reason: 'requested' });
  expect([reply.status, reply.body['status']]).toEqual([200, 'erased']);
  return reply.body;
};

describe('B48 on EventStoreDB: somebody who acted', () => {
  it('is erased on every server, and his key in every file', async () => {
    const [one, two] = [await start(), await start()];
    const name = 'Wvuq Personne 1337';
    const member = { name, role: 'admin' };
    const { principal } = (await one.call<Body>('POST', '/v1/members', member)).body;
    const path = `principals/${String(principal)}`;
    const gone = await one.call<Body>('POST', `/v1/${path}/deactivation`, {
      reason: `${name} left`,
    });
    const shown = async (server: TestApplication, at: unknown): Promise<unknown> =>
      (await server.call<Body>('GET', `/v1/${path}?at_least=${String(at)}`)).body['name'];
    expect(await shown(two, gone.body['position'])).toBe(name);
    const asked = { principal, reason: 'requested' };
    const preview = await two.call<Body>('POST', '/v1/erasures', { ...asked, dry_run: true });
    const id = String(preview.body['key']);
    const key = keyIn(one.dir, id);
    if (!(key instanceof Uint8Array)) throw new Error('no key');
    const { body } = await two.call<Body>('POST', '/v1/erasures', asked);
    expect(body).toMatchObject({ status: 'erased', touched: { others: 2 } });
    const fresh = await start();
    for (const server of [one, two, fresh]) {
      expect(await shown(server, body['event_position'])).toBe('[erased]');
      expect(keyIn(server.dir, id)).toBe('erased');
    }
    const files = folders.flatMap(filesBelow);
    for (const forms of [formsOf(name), formsOf(key)]) expect(traces(files, forms)).toEqual([]);
  }, 300_000);
});

describe('B48 on EventStoreDB: an erasure on one server', () => {
  it('takes the texts from every server, from one that was down and from one that is new', async () => {
    const [one, two, down] = [await start(), await start(), await start()];
    await story(one, 's1');
    const position = await story(one, 's2');
    for (const server of [one, two, down])
      for (const subject of ['s1', 's2'])
        expect(await told(server, subject, position)).toContain(MARKER);
    const { body } = await one.call('POST', '/v1/erasures', {
      subject: 's1',
      reason: 'requested',
      dry_run: true,
    });
    const id = String(body['key']);
    const key = keyIn(two.dir, id);
    if (!(key instanceof Uint8Array)) throw new Error('no key');
    const { dir } = down;
    await stop(down);
    expect(keyIn(dir, id)).toEqual(key);

    const erased = await erase(one, 's1');
    expect(await told(one, 's1')).not.toContain(`${MARKER} is s1`);
    const at = String(erased['event_position']);
    expect(await told(two, 's1', at)).not.toContain(`${MARKER} is s1`);
    expect(await told(two, 's1', at)).toContain('[erased]');
    expect(await told(two, 's2', at)).toContain(`${MARKER} is s2`);

    const [again, fresh] = [await start(dir), await start()];
    for (const server of [again, fresh]) {
      expect(await told(server, 's1')).not.toContain(`${MARKER} is s1`);
      expect(await told(server, 's2')).toContain(`${MARKER} is s2`);
    }
    for (const server of [one, two, again, fresh]) expect(keyIn(server.dir, id)).toBe('erased');
    // Asked for on another server it is the same erasure.
    expect((await erase(two, 's1'))['erasure_id']).toBe(erased['erasure_id']);
    const files = folders.flatMap(filesBelow);
    for (const forms of [formsOf(MARKER), formsOf(key)]) expect(traces(files, forms)).toEqual([]);
    proved('an erasure on a cluster', { servers: 4, 'files searched': files.length, found: 0 });
  }, 300_000);
});
