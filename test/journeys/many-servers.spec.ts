import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { startServer, type RunningServer } from '../support/server.js';

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
    read_models?: { lag: number }[];
  };
}

/** Several servers in processes of their own, on one EventStoreDB. */
describe('many servers on one EventStoreDB', () => {
  let cluster: TestEventStoreDb;
  const servers: RunningServer[] = [];
  const start = async (dir?: string): Promise<RunningServer> => {
    const server = await startServer({
      dir: dir ?? mkdtempSync(join(tmpdir(), 'precedent-many-')),
      env: { PRECEDENT_EVENTSTORE: cluster.connectionString, PRECEDENT_BOOTSTRAP_KEY: KEY },
    });
    servers.push(server);
    return server;
  };
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
    [a, b] = await Promise.all([start(), start()]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(servers.map((s) => s.stop('SIGKILL')));
    await cluster.stop();
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

  it('a server killed in the middle of writing comes back from its checkpoint and answers as the others do', async () => {
    const jobs: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++)
      jobs.push(
        post(b, '/v1/ingestions', {
          request_id: `k${i}`,
          source: { title: `k${i}`, type: 'note', text: `keep ${i}` },
          records: [
            {
              topic: `k-${i}`,
              statement: `keep ${i}`,
              status: 'approved',
              evidence: [{ quote: `keep ${i}` }],
            },
          ],
        }).catch(() => undefined),
      );
    await jobs[3];
    await b.stop('SIGKILL');
    const acknowledged = (await Promise.all(jobs)).filter(
      (r): r is Reply => (r as Reply | undefined)?.status === 202,
    );
    expect(acknowledged.length).toBeGreaterThan(0);
    b = await start(b.dir);
    for (const { body } of acknowledged)
      for (;;) {
        const job = await call(b, 'GET', `/v1/ingestions/${body.job_id}?at_least=${body.position}`);
        expect(job.status).toBe(200);
        if (job.body.status === 'completed') break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    expect((await ask(a, 'k-0', await position(b))).body.state).toBe('verified');
  }, 120_000);

  it('a new server catches up before it serves', async () => {
    const c = await start();
    expect((await ask(c, 'b09', await position(a))).body.state).toBe('verified');
    const ready = await call(c, 'GET', '/health/ready');
    expect(ready).toMatchObject({ status: 200, body: { status: 'ready' } });
  }, 60_000);

  it('P5: all have the same read models', async () => {
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
    console.log(
      `many servers: 4 processes, 1 killed, ${tables.length} tables equal on ${alive.length} servers`,
    );
  }, 60_000);
});
