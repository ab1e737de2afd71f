import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { TestApplication } from '../support/application.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';

const BETWEEN = 10_000;
const TERMS = 'terms are net 30';
const b01 = {
  request_id: 'b01',
  source: { title: 'b01', type: 'note', text: TERMS },
  records: [
    { topic: 'b01', statement: TERMS, status: 'approved', evidence: [{ quote: 'net 30' }] },
  ],
};

let cluster: TestEventStoreDb;
beforeAll(async () => {
  cluster = await TestEventStoreDb.start();
});
afterAll(() => cluster.stop());

const engines: readonly (readonly [string, () => string])[] = [
  ['the embedded engine', () => 'sqlite:'],
  ['EventStoreDB', () => cluster.connectionString],
];

describe.each(engines)('a request sent again, on %s', (engine, eventstore) => {
  const dir = mkdtempSync(join(tmpdir(), 'precedent-again-'));
  let server: TestApplication;
  const start = async (): Promise<void> => {
    server = await TestApplication.start({
      PRECEDENT_DATA: dir,
      PRECEDENT_EVENTSTORE: eventstore(),
    });
  };
  beforeAll(start);
  afterEach(() => server.close());
  afterAll(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  /** Status and body as they went over the wire. */
  const send = async (): Promise<string> => {
    const { statusCode, body } = await server.application.app.inject({
      method: 'POST',
      url: '/v1/ingestions',
      headers: { authorization: `Bearer ${server.key}` },
      payload: b01,
    });
    return `${statusCode} ${body}`;
  };
  const fifty = (): Promise<string[]> => Promise.all(Array.from({ length: 50 }, send));

  it(`P2 B01: 50 at once and 50 after ${BETWEEN} other events and a restart get the same receipt bytes; there is one event, one decision`, async () => {
    const replies = await fifty();
    const [reply = ''] = replies;
    const receipt = JSON.parse(reply.slice(4)) as { job_id: string; position: string };
    const before = await counted(server);
    for (let done = before.all; done < before.all + BETWEEN; done = (await counted(server)).all)
      // Counting reads the whole log.
      for (const part of [1, 2, 3, 4, 5])
        await Promise.all([1, 2, 3, 4].map((n) => server.ingest(others(`${done}-${part}-${n}`))));
    await server.close();
    await start();
    replies.push(...(await fifty()));

    expect([...new Set(replies)]).toEqual([reply]);
    const { all, accepted, decided } = await counted(server);
    expect(accepted).toEqual([receipt.position]);
    expect(decided).toBe(1);
    const job = await server.call<{ records: { decision_id: string }[] }>(
      'GET',
      `/v1/ingestions/${receipt.job_id}`,
    );
    expect(job.body.records.map((r) => r.decision_id)).toEqual([
      expect.stringMatching(/^b01\.[0-9a-f]{12}$/),
    ]);
    proved(`requests sent again on ${engine}`, {
      'equal receipts': replies.length,
      'events between': all - before.all,
      'stored twice': accepted.length - 1,
    });
  }, 300_000);
});

describe('read models built anew', () => {
  const dir = mkdtempSync(join(tmpdir(), 'precedent-anew-'));
  afterAll(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  const start = (): Promise<TestApplication> =>
    TestApplication.start({ PRECEDENT_DATA: dir, PRECEDENT_EVENTSTORE: 'sqlite:' });
  const forget = (...names: string[]): void => {
    for (const name of names)
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(dir, `${name}.sqlite${part}`), { force: true });
  };
  const digest = (): string => {
    const db = ReadDatabase.openForReading(join(dir, 'read.sqlite'));
    try {
      return db.digest(projections.flatMap((p) => Object.keys(p.tables)));
    } finally {
      db.close();
    }
  };
  /** Events of the log once nothing moves any more. */
  const settled = async (server: TestApplication): Promise<number> => {
    for (let seen = -1; ;) {
      await server.call('GET', `/v1/workspace?at_least=${await server.end()}`);
      await delay(300);
      const { all } = await counted(server);
      if (all === seen) return all;
      seen = all;
    }
  };

  it('P5 B27: are the same bytes and cause nothing again, nor does a reaction that forgot how far it was', async () => {
    let server = await start();
    await server.ingest(others('anew'));
    const events = await settled(server);
    await server.close();
    const before = digest();
    for (const lost of [['read'], ['read'], ['read', 'reactions']]) {
      forget(...lost);
      server = await start();
      expect(await settled(server)).toBe(events);
      await server.close();
      expect(digest()).toBe(before);
    }
    proved('read models built anew', { rebuilds: 3, approvals: 200, 'caused again': 0 });
  }, 120_000);
});

/** 200 records of as many topics. */
function others(from: string): object {
  const text = `other ${from}`;
  const record = (i: number) => ({
    topic: `other ${from} ${i}`,
    statement: `other ${from} ${i}`,
    status: 'approved',
    evidence: [{ quote: text }],
  });
  return {
    source: { title: text, type: 'note', text },
    records: Array.from({ length: 200 }, (_, i) => record(i)),
  };
}

interface Counted {
  all: number;
  /** Positions of the events that carry the request_id. */
  accepted: string[];
  decided: number;
}

async function counted({ application }: TestApplication): Promise<Counted> {
  const counts: Counted = { all: 0, accepted: [], decided: 0 };
  const { signal } = new AbortController();
  for await (const batch of application.ledger.store.follow(0, { signal, live: false }))
    for (const { type, stream, payload, position } of batch) {
      // Checkpoints are signed when it is time, whatever else happens.
      if (!stream.startsWith('checkpoint-')) counts.all += 1;
      if (payload.includes('"request_id":"b01"')) counts.accepted.push(String(position));
      if (type === 'DecisionApproved' && stream.endsWith('-b01')) counts.decided += 1;
    }
  return counts;
}
