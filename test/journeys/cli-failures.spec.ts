import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';

/** A server that answers as each test wants: what a real one does only when it fails. */
type Reply = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let url: string;
let adr: string;
let replies: Reply;
let asked: string[];

beforeAll(async () => {
  adr = await mkdtemp(join(tmpdir(), 'precedent-adr-'));
  await writeFile(join(adr, 'a.md'), '# A\n');
  await writeFile(join(adr, 'b.md'), '# B\n');
  server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    request.resume().once('end', () => replies(request, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await rm(adr, { recursive: true });
});

async function run(
  args: readonly string[],
  reply: Reply,
  onStart?: Parameters<typeof precedent>[2],
): Promise<Ran> {
  replies = reply;
  asked = [];
  return precedent(args, { PRECEDENT_URL: url, PRECEDENT_KEY: 'some-key' }, onStart);
}

const send = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const RECEIPT = {
  job_id: 'job_1',
  status: 'accepted',
  source_ids: [],
  records_total: 2,
  position: '7',
};
const JOB = {
  job_id: 'job_1',
  status: 'running',
  counts: { stored: 1, skipped: 0, queued: 0 },
  records_total: 2,
  records: [{ index: 0, outcome: 'stored', path: 'a.md' }],
  findings: [],
  submitted_at: '2026-01-01T00:00:00.000Z',
  position: '9',
};

const jobThat =
  (is: object): Reply =>
  (request, response) => {
    if (request.method === 'POST') send(response, 202, RECEIPT);
    else send(response, 200, { ...JOB, ...is });
  };

describe('an ingestion whose end is not known', () => {
  it('ends with 130 when interrupted, and tells how to see the rest', async () => {
    const { code, stdout, stderr } = await run(
      ['ingest', adr, '--request-id', 'mine'],
      jobThat({}),
      (child) => {
        const waiting = setInterval(() => {
          if (asked.filter((line) => line.startsWith('GET')).length < 2) return;
          clearInterval(waiting);
          child.kill('SIGINT');
        }, 20);
      },
    );
    expect(code).toBe(130);
    expect(stdout).toContain('is running; so far:\n\n     1  stored');
    expect(stderr).toContain('error  interrupted');
    expect(stderr).toContain('--request-id mine shows how it ends');
    expect(asked[1]).toBe('GET /v1/ingestions/job_1?at_least=7');
  });

  it('ends with 4 when the job failed, its result in one JSON document', async () => {
    const { code, stdout, stderr } = await run(
      ['ingest', adr, '--json'],
      jobThat({ status: 'failed' }),
    );
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'precedent.ingestion/1',
      status: 'failed',
      counts: { stored: 1 },
    });
    expect(stderr).toContain('error  ingestion_incomplete');
  });

  it('ends with 4 when the connection broke before the reply', async () => {
    const { code, stderr } = await run(['ingest', adr], (request) => request.socket.destroy());
    expect(code).toBe(4);
    expect(stderr).toContain('error  outcome_unknown');
    expect(stderr).toContain('run the same command again');
  });

  it('ends with 4 when the server does not know the outcome', async () => {
    const body = { error: 'outcome_unknown', message: 'may or may not', issues: [], fix: 'again' };
    const { code } = await run(['review', 'x', 'reject', '--reason', 'no'], (_request, response) =>
      send(response, 503, body),
    );
    expect(code).toBe(4);
  });
});

describe('a server that cannot serve', () => {
  it.each([
    { status: 403, error: 'requires_governor', code: 5 },
    { status: 409, error: 'already_decided', code: 1 },
    { status: 500, error: 'internal_error', code: 1 },
    { status: 503, error: 'projection_lag', code: 3 },
  ])('$status $error ends with $code, in its words', async ({ status, error, code }) => {
    const problem = {
      error,
      message: 'it said no\u202e',
      path: 'somewhere',
      issues: [
        { path: 'documents[1].text', problem: 'is odd' },
        { path: '', problem: 'all of it' },
      ],
      fix: 'do otherwise',
    };
    const ran = await run(['ingest', adr], (_request, response) => send(response, status, problem));
    expect(ran).toEqual({
      code,
      stdout: '',
      stderr: [
        'precedent: it said no\\u{202e}',
        `  error  ${error}`,
        '  path   somewhere',
        '  issue  documents[1] (b.md).text: is odd',
        '  issue  all of it',
        '  fix    do otherwise',
        '',
      ].join('\n'),
    });
  });

  it.each([['context'], ['ask', 'x'], ['history', 'x']])(
    'which is no Precedent server ends %s with 3',
    async (...args) => {
      const { code, stdout, stderr } = await run(args, (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>'),
      );
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
      expect(stderr).toContain('error  unreadable_reply');
      expect(stderr).toContain('fix    set PRECEDENT_URL');
    },
  );

  it('which sends elsewhere does not get the key there', async () => {
    const { code, stderr } = await run(['context'], (request, response) =>
      response.writeHead(307, { location: `${url}/elsewhere` }).end(),
    );
    expect(code).toBe(3);
    expect(stderr).toContain('redirect');
    expect(asked).toEqual(['GET /v1/workspace']);
  });
});

describe('lists', () => {
  it('are followed to their end', async () => {
    const item = (id: string) => ({
      kind: 'candidate',
      id,
      statement: `Do ${id}`,
      reasons: ['status_draft', 'new to us'],
      content_hash: 'h',
      proposed_by: 'mia',
      since: '2026-01-01T10:30:59.000Z',
    });
    const { stdout } = await run(['pending', '--topic', 'a b', '--json'], (request, response) =>
      send(
        response,
        200,
        request.url?.includes('cursor=')
          ? { items: [item('two')], position: '3' }
          : { items: [item('one')], position: '3', next_cursor: '1.one' },
      ),
    );
    expect(asked).toEqual([
      'GET /v1/pending?topic=a+b&limit=200',
      'GET /v1/pending?topic=a+b&cursor=1.one&limit=200',
    ]);
    expect(JSON.parse(stdout)).toEqual({
      schema: 'precedent.pending/1',
      items: [item('one'), item('two')],
      position: '3',
    });
  });

  it('that a reader leaves early are no failure', async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => ({
      topic: `t${i}`,
      name: 'x'.repeat(200),
    }));
    const history = { topic: 'x', name: 'x', aliases: [], heads: [], timeline: [] };
    const { code, stderr } = await run(
      ['history', 'x'],
      (_request, response) =>
        send(response, 200, { ...history, candidate_topics: many, position: '1' }),
      (child) => child.stdout?.once('data', () => child.stdout?.destroy()),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('carry scope and times in the query', async () => {
    await run(
      ['history', 'a/b c', '--scope', 'team=x=y', '--scope', 'eu=1', '--known-at', '12'],
      (_request, response) => send(response, 404, {}),
    );
    expect(decodeURIComponent(asked[0] ?? '')).toBe(
      'GET /v1/topics/a/b c/history?known_at=12&scope[team]=x=y&scope[eu]=1&limit=200',
    );
    expect(asked[0]).toContain('/topics/a%2Fb%20c/history');
  });
});
