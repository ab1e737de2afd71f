import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { TestApplication } from '../support/application.js';

interface Page {
  events: { position: string; stream: string; type: string; payload: string; workspace?: string }[];
  next: string;
  at_end: boolean;
}

let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start({ PRECEDENT_EVENTSTORE: 'sqlite:' });
});
afterAll(() => server.close());

const page = async (query: string, key?: string): Promise<Page> => {
  const { status, body } = await server.call<Page>('GET', `/v1/events?${query}`, undefined, key);
  expect(status).toBe(200);
  return body;
};

async function decide(topic: string, at: number): Promise<void> {
  const statement = `the limit is ${at}`;
  await server.ingest({
    source: { title: topic, type: 'note', text: statement },
    records: [{ topic, statement, status: 'approved', evidence: [{ quote: statement }] }],
  });
}

/** Everything the log holds now, from the engine itself. */
async function log(): Promise<string[]> {
  const { signal } = new AbortController();
  const all: string[] = [];
  for await (const batch of server.application.ledger.store.follow(0, { signal, live: false }))
    all.push(...batch.map((e) => `${e.position} ${e.stream} ${e.type}`));
  return all;
}

describe('the feed of events', () => {
  it('B25: pages of one, read while others write, are the log: none missing, none twice; a cursor outlives a restart', async () => {
    const seen: string[] = [];
    let next = '0';
    let isWriting = true;
    const writing = Promise.all(
      [1, 2, 3, 4].map(async (writer) => {
        for (let i = 0; i < 15; i += 1) await decide(`feed ${writer}`, i);
      }),
    ).finally(() => {
      isWriting = false;
    });
    for (;;) {
      const wasWriting = isWriting;
      const got = await page(`after=${next}&limit=1`);
      seen.push(...got.events.map((e) => `${e.position} ${e.stream} ${e.type}`));
      next = got.next;
      if (got.at_end && !wasWriting) break;
      if (got.at_end) await delay(5);
    }
    await writing;
    expect(seen).toEqual(await log());
    expect(seen.length).toBeGreaterThan(300);

    await server.close();
    server = await TestApplication.start({
      PRECEDENT_EVENTSTORE: 'sqlite:',
      PRECEDENT_DATA: server.dir,
    });
    expect(await page(`after=${next}`)).toEqual({ events: [], next, at_end: true });
    await decide('after the restart', 1);
    const more = await page(`after=${next}`);
    expect([...seen, ...more.events.map((e) => `${e.position} ${e.stream} ${e.type}`)]).toEqual(
      await log(),
    );
    process.stdout.write(`events feed: ${seen.length} events in pages of one beside 4 writers\n`);
  }, 120_000);

  it('is for admins and owners, and for people and services only', async () => {
    for (const [role, kind, status] of [
      ['member', 'person', 403],
      ['admin', 'person', 200],
      ['member', 'agent', 403],
    ] as const) {
      const key = await server.member(`${role}-${kind}`, role, kind);
      const got = await server.call('GET', '/v1/events?limit=1', undefined, key);
      expect([role, kind, got.status]).toEqual([role, kind, status]);
    }
  });

  it.each(['after=x', 'after=-1', 'limit=0', 'limit=501', 'limit=all', 'before=3'])(
    'refuses ?%s by name',
    async (query) => {
      const { status, body } = await server.call('GET', `/v1/events?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: 'invalid_arguments', path: query.split('=')[0] });
    },
  );
});
