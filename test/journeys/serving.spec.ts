import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { TestApplication } from '../support/application.js';

type Headers = Record<string, string>;
interface Exchange {
  method?: 'GET' | 'POST' | 'OPTIONS' | 'DELETE';
  url: string;
  headers?: Headers;
  body?: unknown;
  remoteAddress?: string;
}

const note = (request_id?: string) => ({
  ...(request_id === undefined ? {} : { request_id }),
  source: { title: 'Note', type: 'note', text: 'We use PostgreSQL.' },
  records: [
    {
      topic: 'database',
      statement: 'PostgreSQL',
      status: 'candidate',
      evidence: [{ quote: 'PostgreSQL' }],
    },
  ],
});

const toolCall = (args: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'resolve_decision_state', arguments: args },
});

const started: TestApplication[] = [];

async function start(settings: Headers = {}): Promise<TestApplication> {
  const server = await TestApplication.start(settings);
  started.push(server);
  return server;
}

async function send(server: TestApplication, exchange: Exchange) {
  const { method = 'GET', url, headers = {}, body, remoteAddress } = exchange;
  const response = await server.application.app.inject({
    method,
    url,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined
      ? {}
      : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
  });
  const isJson = /json/.test(String(response.headers['content-type']));
  return {
    status: response.statusCode,
    headers: response.headers as Headers,
    text: response.body,
    body: (isJson && response.body !== '' ? JSON.parse(response.body) : {}) as Record<
      string,
      unknown
    >,
  };
}

let server: TestApplication;
let auth: Headers;

beforeAll(async () => {
  server = await start();
  auth = { authorization: `Bearer ${server.key}` };
});

afterAll(async () => {
  for (const each of started) {
    await each.close();
    rmSync(each.dir, { recursive: true, force: true });
  }
});

describe('who may address the server, and from which page', () => {
  const PATHS = [
    '/v1/organisation',
    '/mcp',
    '/openapi.json',
    '/metrics',
    '/oauth/authorize',
    '/nothing',
  ];

  it.each(PATHS)(
    'a name that is not the server’s own is refused at %s (DNS rebinding)',
    async (url) => {
      for (const host of ['evil.example', 'evil.example:4600', '127.0.0.1.evil.example']) {
        const { status, body } = await send(server, { url, headers: { ...auth, host } });
        expect([host, status, body['error']]).toEqual([host, 403, 'host_not_allowed']);
      }
    },
  );

  it.each(['localhost', 'LOCALHOST:4600', '127.0.0.1:1', '[::1]:4600', '[::1]'])(
    'answers to %s',
    async (host) => {
      const reply = await send(server, { url: '/v1/organisation', headers: { ...auth, host } });
      expect(reply.status).toBe(200);
    },
  );

  it('probes may use any address, and learn only of health', async () => {
    const reply = await send(server, { url: '/health/live', headers: { host: '10.1.2.3:4600' } });
    expect(reply.status).toBe(200);
  });

  it.each([
    'https://evil.example',
    'null',
    'http://localhost:9999',
    'http://localhost.evil.example',
    'x',
  ])('a page of %s is refused everywhere, also with a valid key', async (origin) => {
    for (const [method, url] of [
      ['POST', '/v1/answers'],
      ['POST', '/mcp'],
      ['GET', '/health/live'],
      ['OPTIONS', '/v1/answers'],
    ] as const) {
      const headers = { ...auth, origin, host: 'localhost:4600' };
      const reply = await send(server, {
        method,
        url,
        headers,
        body: method === 'POST' ? {} : undefined,
      });
      expect([url, reply.status, reply.body['error']]).toEqual([url, 403, 'origin_not_allowed']);
      expect(reply.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  it('the server’s own pages may call it; no answer ever opens CORS', async () => {
    const headers = { ...auth, origin: 'http://localhost:4600', host: 'localhost:4600' };
    const reply = await send(server, { url: '/v1/organisation', headers });
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.headers).filter((h) => h.startsWith('access-control'))).toEqual([]);
  });

  it('settings add names and origins', async () => {
    const open = await start({
      PRECEDENT_ALLOWED_HOSTS: 'ledger.internal, gate.example:8443',
      PRECEDENT_ALLOWED_ORIGINS: 'https://app.example.com',
      PRECEDENT_PUBLIC_URL: 'https://precedent.example.com',
    });
    const key = { authorization: `Bearer ${open.key}` };
    const status = async (headers: Headers): Promise<number> =>
      (await send(open, { url: '/v1/organisation', headers: { ...key, ...headers } })).status;
    expect(await status({ host: 'ledger.internal:1' })).toBe(200);
    expect(await status({ host: 'gate.example:8443' })).toBe(200);
    expect(await status({ host: 'gate.example:8444' })).toBe(403);
    expect(await status({ host: 'precedent.example.com' })).toBe(200);
    expect(await status({ origin: 'https://app.example.com' })).toBe(200);
    expect(await status({ origin: 'http://app.example.com' })).toBe(403);
    const secure = await send(open, { url: '/health/live' });
    expect(secure.headers['strict-transport-security']).toMatch(/^max-age=\d+/);
  });
});

describe('what leaves with every answer', () => {
  it.each(['/v1/organisation', '/mcp', '/health/live', '/nothing'])(
    '%s: headers that make it inert',
    async (url) => {
      const { headers } = await send(server, { url, headers: auth });
      expect(headers).toMatchObject({
        'content-security-policy': "default-src 'none';frame-ancestors 'none';form-action 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
        'x-request-id': expect.stringMatching(/^[\w.-]{8,64}$/),
      });
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers['strict-transport-security']).toBeUndefined();
    },
  );

  it('a request keeps the id that its client gave, if it can be one', async () => {
    const id = async (given: string) =>
      (await send(server, { url: '/health/live', headers: { 'x-request-id': given } })).headers[
        'x-request-id'
      ];
    expect(await id('trace-4711-abc')).toBe('trace-4711-abc');
    for (const odd of ['short', 'a b c d e f g h', '<script>alert(1)</script>', 'x'.repeat(65)])
      expect(await id(odd)).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('limits at the door', () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

  it('JSON nested deeper than 64 is refused with its path, by REST and MCP, and nothing is stored', async () => {
    const before = await server.end();
    const rest = await send(server, {
      method: 'POST',
      url: '/v1/ingestions',
      headers: auth,
      body: `{"request_id":"deep","records":[${deep(80)}]}`,
    });
    expect([rest.status, rest.body['error']]).toEqual([400, 'invalid_arguments']);
    expect(rest.body['path']).toMatch(/^records\[0\]\.a\.a\..*a$/);
    const mcp = await send(server, {
      method: 'POST',
      url: '/mcp',
      headers: auth,
      body: JSON.stringify(toolCall({ scope: {} })).replace('{}', deep(80)),
    });
    expect(mcp.status).toBe(400);
    expect(mcp.body).toMatchObject({
      id: 1,
      error: { code: -32602, data: { path: expect.stringMatching(/^scope\.a\.a\..*a$/) } },
    });
    // Sixteen million levels, parsed, would hold the process for half a minute.
    for (const url of ['/v1/answers', '/mcp'])
      for (const text of [`{"id":1,"a":${'['.repeat(16_000_000)}`, `x${'{'.repeat(100)}`]) {
        const from = performance.now();
        const bomb = await send(server, { method: 'POST', url, headers: auth, body: text });
        expect([url, bomb.status]).toEqual([url, 400]);
        expect(performance.now() - from).toBeLessThan(3_000);
      }
    expect(await server.end()).toBe(before);
  });

  it('a body over 32 MiB is 413, before it is read whole', async () => {
    for (const url of ['/v1/answers', '/mcp']) {
      const reply = await send(server, {
        method: 'POST',
        url,
        headers: { ...auth, 'content-length': '33554433' },
        body: '{}',
      });
      expect([url, reply.status, reply.body['error']]).toEqual([url, 413, 'body_too_large']);
    }
  });
});

describe('rates', () => {
  it('one principal has so many requests a minute, whichever door and key; others have their own', async () => {
    const slow = await start({ PRECEDENT_RATE_LIMIT: '4' });
    const other = await slow.member('anna', 'member');
    const key = { authorization: `Bearer ${slow.key}` };
    const ask = () => send(slow, { url: '/v1/organisation', headers: key });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(first.headers['ratelimit-policy']).toBe('"principal";q=4;w=60');
    expect(first.headers['ratelimit']).toMatch(/^"principal";r=3;t=(?:59|60)$/);
    await ask();
    await send(slow, { method: 'POST', url: '/mcp', headers: key, body: toolCall({}) });
    expect((await ask()).headers['ratelimit']).toMatch(/^"principal";r=0;/);
    for (const url of ['/v1/organisation', '/mcp']) {
      const refused = await send(slow, {
        method: url === '/mcp' ? 'POST' : 'GET',
        url,
        headers: key,
      });
      expect([refused.status, refused.body['error']]).toEqual([429, 'rate_limited']);
      expect(refused.headers['content-type']).toContain('application/problem+json');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    const theirs = await send(slow, {
      url: '/v1/organisation',
      headers: { authorization: `Bearer ${other}` },
    });
    expect(theirs.status).toBe(200);
    expect((await send(slow, { url: '/health/live' })).status).toBe(200);
  });

  it('0 sets no limit and sends no header', async () => {
    const free = await start({ PRECEDENT_RATE_LIMIT: '0' });
    const reply = await send(free, {
      url: '/v1/organisation',
      headers: { authorization: `Bearer ${free.key}` },
    });
    expect([reply.status, reply.headers['ratelimit']]).toEqual([200, undefined]);
  });
});

describe('Idempotency-Key', () => {
  const ingest = (body: object, headers: Headers = {}) =>
    send(server, { method: 'POST', url: '/v1/ingestions', headers: { ...auth, ...headers }, body });

  it('B01, B02: means what request_id means', async () => {
    const first = await ingest(note(), { 'idempotency-key': 'header-1' });
    expect(first.status).toBe(202);
    const again = await ingest(note('header-1'));
    const quoted = await ingest(note(), { 'idempotency-key': '"header-1"' });
    expect([again.body['job_id'], quoted.body['job_id']]).toEqual([
      first.body['job_id'],
      first.body['job_id'],
    ]);
    const other = await ingest(
      { ...note(), source: { ...note().source, text: 'PostgreSQL!' } },
      { 'idempotency-key': 'header-1' },
    );
    expect([other.status, other.body['error']]).toEqual([422, 'request_id_conflict']);
  });

  it('beside another request_id it is refused; beside the same it is not', async () => {
    const both = await ingest(note('a'), { 'idempotency-key': 'b' });
    expect([both.status, both.body['path']]).toEqual([400, 'request_id']);
    expect((await ingest(note('same'), { 'idempotency-key': 'same' })).status).toBe(202);
  });
});

describe('health and metrics', () => {
  it('readiness says whether the store takes writes, where every follower is and that keys are there', async () => {
    const { status, body } = await send(server, { url: '/health/ready' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'ready', event_store: 'writable', keys: 'loaded' });
    const models = body['read_models'] as object[];
    for (const each of [...models, body['reactions']])
      expect(each).toMatchObject({
        name: expect.any(String),
        position: expect.any(Number),
        lag: expect.any(Number),
        lag_seconds: expect.any(Number),
      });
    expect(models.length).toBeGreaterThanOrEqual(5);
  });

  it('metrics count what happened: appends, requests, refusals by door and reason', async () => {
    await send(server, { url: '/v1/nothing/there', headers: auth });
    const { status, text, headers } = await send(server, { url: '/metrics' });
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('text/plain');
    const value = (line: RegExp): number => Number(line.exec(text)?.[1]);
    expect(value(/^precedent_append_duration_seconds_count (\d+)/m)).toBeGreaterThan(3);
    expect(
      value(/^precedent_refusals_total\{door="rest",reason="host_not_allowed"\} (\d+)/m),
    ).toBeGreaterThan(15);
    expect(
      value(/^precedent_http_request_duration_seconds_count\{route="\/mcp",status="4xx"\} (\d+)/m),
    ).toBeGreaterThan(1);
    expect(value(/^precedent_store_writable (\d)/m)).toBe(1);
    expect(text).toMatch(/^precedent_follower_lag_positions\{follower="reactions"\} \d+/m);
    expect(text).not.toContain(server.key);
    expect(text).not.toContain('PostgreSQL');
  });

  it('metrics are for this machine; from elsewhere they need an admin’s credential', async () => {
    const far = { url: '/metrics', remoteAddress: '203.0.113.7' };
    expect((await send(server, far)).status).toBe(401);
    expect(
      (await send(server, { url: '/metrics', headers: { 'x-forwarded-for': '203.0.113.7' } }))
        .status,
    ).toBe(401);
    const member = await server.member('metrics-member', 'member');
    expect(
      (await send(server, { ...far, headers: { authorization: `Bearer ${member}` } })).status,
    ).toBe(403);
    expect((await send(server, { ...far, headers: auth })).status).toBe(200);
    const closed = await start({ PRECEDENT_METRICS: 'closed' });
    expect((await send(closed, { url: '/metrics' })).status).toBe(401);
    const open = await start({ PRECEDENT_METRICS: 'open' });
    expect((await send(open, far)).status).toBe(200);
  });
});
