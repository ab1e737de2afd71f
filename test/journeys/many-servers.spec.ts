import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';

const CYCLES = 4;
const KEY = `prec_MANYSERV_${'m'.repeat(40)}`;

interface Reply {
  status: number;
  body: Record<string, never> & {
    job_id: string;
    status: string;
    position: string;
    error?: string;
    message?: string;
    state?: string;
    decision?: { id: string; statement: string };
    records?: { decision_id: string; outcome: string }[];
    event_store?: string;
    read_models?: { lag: number }[];
  };
}

/** Several servers in processes of their own, on one EventStoreDB. */
describe('many servers on one EventStoreDB', () => {
  let cluster: TestEventStoreDb;
  const servers: RunningServer[] = [];
  const folders: string[] = [];
  const folder = (): string => {
    const dir = mkdtempSync(join(tmpdir(), 'precedent-many-'));
    folders.push(dir);
    return dir;
  };
  const start = async (
    zone: string,
    dir = folder(),
    more: Record<string, string> = {},
  ): Promise<RunningServer> => {
    const own = {
      TZ: zone,
      PRECEDENT_EVENTSTORE: cluster.connectionString,
      PRECEDENT_BOOTSTRAP_KEY: KEY,
    };
    const server = await startServer({ dir, env: { ...own, ...more } });
    servers.push(server);
    return server;
  };
  const counted = { kills: 0, acknowledged: 0, cuts: 0 };
  const call = async (
    server: RunningServer,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Reply> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  };
  const post = (server: RunningServer, path: string, body: unknown): Promise<Reply> =>
    call(server, 'POST', path, body);
  /** Hands in one record through one server; resolves once any server has worked it through. */
  const record = async (
    server: RunningServer,
    topic: string,
    statement: string,
    more: object = {},
  ): Promise<{ id: string; position: string }> => {
    const receipt = await post(server, '/v1/ingestions', {
      source: { title: `${topic} ${statement}`, type: 'note', text: statement },
      records: [
        { topic, statement, status: 'approved', evidence: [{ quote: statement }], ...more },
      ],
    });
    expect(receipt.status).toBe(202);
    for (;;) {
      const job = await call(server, 'GET', `/v1/ingestions/${receipt.body.job_id}`);
      if (job.body.status === 'completed')
        return { id: job.body.records?.[0]?.decision_id ?? '', position: job.body.position };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const ask = (server: RunningServer, topic: string, at_least?: string): Promise<Reply> =>
    post(server, '/v1/answers', {
      question: topic,
      ...(at_least === undefined ? {} : { at_least }),
    });
  const position = async (server: RunningServer): Promise<string> =>
    (await call(server, 'GET', '/v1/workspace')).body.position;

  let a: RunningServer;
  let b: RunningServer;
  beforeAll(async () => {
    cluster = await TestEventStoreDb.start();
    [a, b] = await Promise.all([start('UTC'), start('Pacific/Kiritimati')]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(servers.map((s) => s.stop('SIGKILL')));
    await cluster.stop();
    for (const dir of folders) rmSync(dir, { recursive: true, force: true });
  });

  it('started at once they make one workspace', async () => {
    const contexts = await Promise.all([a, b].map((s) => call(s, 'GET', '/v1/workspace')));
    expect(contexts.map((c) => c.status)).toEqual([200, 200]);
    expect(
      cluster.log.all.filter((e) => e.stream.includes('workspace-') && e.revision === 0),
    ).toHaveLength(1);
  });

  it('P3: what is written through one is read through the other with at_least', async () => {
    for (let i = 0; i < 10; i++) {
      const written = await record(a, `p3-${i}`, `use ${i}`);
      expect(await ask(b, `p3-${i}`, written.position)).toMatchObject({
        status: 200,
        body: { state: 'verified', decision: { id: written.id } },
      });
    }
  }, 60_000);

  it('P3: a server that lags says how far it is', async () => {
    const lagging = await ask(b, 'p3-0', '999999999');
    expect(lagging).toMatchObject({ status: 503, body: { error: 'projection_lag' } });
    expect(lagging.body.message).toMatch(/reached position \d+/);
  }, 20_000);

  it('B09: both approve a successor of one decision at once: one wins, the other is told of the new head', async () => {
    const first = await record(a, 'b09', 'one');
    const later = await Promise.all(
      ['two', 'three'].map((s) =>
        record(a, 'b09', s, { status: 'candidate', supersedes: [first.id] }),
      ),
    );
    const replies = await Promise.all(
      [a, b].map((s, i) =>
        post(s, `/v1/decisions/${later[i]?.id ?? ''}/reviews`, {
          action: 'approve',
          reason: 'agreed',
        }),
      ),
    );
    expect(replies.map((r) => r.status).sort()).toEqual([200, 409]);
    expect(replies.find((r) => r.status === 409)?.body.error).toBe('head_moved');
  }, 60_000);

  it('P2 B01: 50 equal requests at once through both, and 50 more later, are one ingestion and one decision', async () => {
    const statement = 'the term is 30 days';
    const body = {
      request_id: 'b01',
      source: { title: 'b01', type: 'note', text: statement },
      records: [{ topic: 'b01', statement, status: 'approved', evidence: [{ quote: statement }] }],
    };
    const fifty = () =>
      Promise.all(
        Array.from({ length: 50 }, (_, i) => post(i % 2 ? a : b, '/v1/ingestions', body)),
      );
    const replies = await fifty();
    for (let i = 0; i < 5; i++) await record(b, `between-${i}`, `between ${i}`);
    replies.push(...(await fifty()));
    expect(new Set(replies.map((r) => r.status))).toEqual(new Set([202]));
    expect([...new Set(replies.map((r) => r.body.job_id))]).toHaveLength(1);
    await ask(a, 'b01', await position(b));
    const stored = (type: string) =>
      cluster.log.all.filter(
        (e) =>
          e.system.get('type') === type &&
          (e.stream.includes(replies[0]?.body.job_id ?? '-') || e.stream.endsWith('-b01')),
      );
    expect(stored('IngestionSubmitted')).toHaveLength(1);
    expect(stored('DecisionApproved')).toHaveLength(1);
  }, 60_000);

  it('P1 P7: a server killed at any point comes back from its checkpoint and answers as the others do', async () => {
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const jobs = Array.from({ length: 20 }, (_, i) => {
        const statement = `keep ${cycle} ${i}`;
        return post(b, '/v1/ingestions', {
          request_id: `k${cycle}-${i}`,
          source: { title: statement, type: 'note', text: statement },
          records: [
            {
              topic: `k-${cycle}-${i}`,
              statement,
              status: 'approved',
              evidence: [{ quote: statement }],
            },
          ],
        }).catch(() => undefined);
      });
      await Promise.race(jobs);
      await delay(Math.random() * 150);
      await b.stop('SIGKILL');
      counted.kills++;
      const acknowledged = (await Promise.all(jobs)).filter((r) => r?.status === 202);
      expect(acknowledged.length).toBeGreaterThan(0);
      counted.acknowledged += acknowledged.length;
      cluster.reading.from.length = 0;
      b = await start('Pacific/Kiritimati', b.dir);
      // Read models and reactions, and both at some place behind the start of the log.
      expect(cluster.reading.from.length).toBeGreaterThan(1);
      expect(Math.min(...cluster.reading.from)).toBeGreaterThan(0);
      for (const reply of acknowledged)
        for (;;) {
          const { job_id, position: at } = reply?.body ?? { job_id: '', position: '' };
          const job = await call(b, 'GET', `/v1/ingestions/${job_id}?at_least=${at}`);
          expect(job.status).toBe(200);
          if (job.body.status === 'completed') break;
          await delay(20);
        }
    }
    const at = await position(b);
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const asked = { question: `k-${cycle}-0`, as_of: '2100-01-01', at_least: at };
      const [one, other] = await Promise.all([a, b].map((s) => post(s, '/v1/answers', asked)));
      expect(one?.body.state).toBe('verified');
      expect({ ...one?.body, answered_at: '' }).toEqual({ ...other?.body, answered_at: '' });
    }
  }, 180_000);

  it('B30: cut off from the store both turn not ready, go on answering, and come back by themselves', async () => {
    const ready = () => Promise.all([a, b].map((s) => call(s, 'GET', '/health/ready')));
    const settled = async (status: number) => {
      let replies = await ready();
      while (replies.some((r) => r.status !== status)) {
        await delay(50);
        replies = await ready();
      }
      return replies;
    };
    await settled(200);
    cluster.proxy.refuse(true);
    counted.cuts++;
    for (const { body } of await settled(503)) expect(body.event_store).toBe('not_writable');
    for (const server of [a, b]) {
      expect((await ask(server, 'b01')).body.state).toBe('verified');
      expect((await call(server, 'GET', '/health/live')).status).toBe(200);
    }
    cluster.proxy.refuse(false);
    for (const { body } of await settled(200)) expect(body.event_store).toBe('writable');
    const written = await record(a, 'after-the-cut', 'back');
    expect((await ask(b, 'after-the-cut', written.position)).body.state).toBe('verified');
  }, 120_000);

  it('a new server reads the whole log before it serves, and says how far it is', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    cluster.reading.slowMs = 5_000 / cluster.log.all.length;
    const starting = start('America/Los_Angeles', folder(), { PRECEDENT_PORT: String(port) });
    let refused = 0;
    let over = false;
    void starting.finally(() => (over = true));
    while (!over) {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      if (answer === undefined) refused++;
      else expect(answer.status).toBe(200);
      await delay(100);
    }
    const c = await starting;
    cluster.reading.slowMs = 0;
    expect(refused).toBeGreaterThan(10);
    const lines = [...c.said().matchAll(/reading the log: position (\d+) of (\d+)\n/g)];
    expect(lines.length).toBeGreaterThan(1);
    const positions = lines.map(([, at]) => Number(at));
    expect(positions).toEqual([...positions].sort((x, y) => x - y));
    expect((await ask(c, 'b09', await position(a))).body.state).toBe('verified');
    const ready = await call(c, 'GET', '/health/ready');
    expect(ready).toMatchObject({ status: 200, body: { status: 'ready' } });
  }, 120_000);

  it('P5: all have the same read models, though each lives in a time zone of its own', async () => {
    const alive = [a, b, servers.at(-1)].filter((s) => s !== undefined);
    const last = (await Promise.all(alive.map(position))).map(Number);
    for (const server of alive) await ask(server, 'b09', String(Math.max(...last)));
    await Promise.all(alive.map((s) => s.stop()));
    const tables = projections.flatMap((p) => Object.keys(p.tables));
    const digests = alive.map(({ dir }) => {
      const db = ReadDatabase.openForReading(join(dir, 'read.sqlite'));
      const digest = db.digest(tables);
      db.close();
      return digest;
    });
    expect(new Set(digests).size).toBe(1);
    proved('many servers on one EventStoreDB', {
      servers: alive.length,
      'crash cycles': counted.kills,
      'faults injected': counted.cuts,
      acknowledged: counted.acknowledged,
      lost: 0,
      'tables compared': tables.length * (alive.length - 1),
    });
  }, 60_000);
});
