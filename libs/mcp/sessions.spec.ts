import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { askingTools, type AskingTools } from '../../test/support/mcp-asking.js';
import { connectLegacy, type LegacyClient } from '../../test/support/mcp-clients.js';
import { fixtureCallers, fixtureEdge } from '../../test/support/mcp-fixture.js';
import {
  callModern,
  initialize,
  post,
  type Members,
  type Sent,
} from '../../test/support/mcp-raw.js';
import { fixtureServer } from '../../test/support/mcp-server.js';
import type { McpEdge } from './edge.js';
import { MCP_LIMITS } from './limits.js';

const RECHECK = 30;
const limits = {
  sessions: 6,
  sessionsOfPrincipal: 3,
  recheckMs: RECHECK,
  progressEveryMs: 40,
};

let fixture: AskingTools;
let edge: McpEdge;
let app: FastifyInstance;
let url: string;
let clock: number;
const revoked = new Set<string>();

beforeEach(async () => {
  clock = 0;
  revoked.clear();
  fixture = askingTools();
  edge = fixtureEdge([], { tools: fixture.tools, limits, clock: () => clock });
  const authenticate = async (bearer: string) =>
    revoked.has(bearer) ? undefined : fixtureCallers[bearer];
  ({ app, url } = await fixtureServer([], 0, edge, authenticate));
});
afterEach(async () => {
  await edge.close();
  await app.close();
});

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const inSession = (session: string, sent: Sent = {}): Sent => ({
  ...sent,
  headers: { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25', ...sent.headers },
});
const other = (method: 'GET' | 'DELETE', session?: string, key = 'key-member') =>
  fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
  });

describe('a session', () => {
  it('is given to a client that declares elicitation, and to no other', async () => {
    expect((await initialize(url)).session).toMatch(/^[0-9a-f-]{36}$/);
    expect(
      (await initialize(url, { capabilities: { elicitation: { form: {} } } })).session,
    ).toBeDefined();
    for (const capabilities of [{}, { sampling: {} }, { elicitation: { url: {} } }])
      expect((await initialize(url, { capabilities })).session).toBeUndefined();
    const accept = 'application/json';
    expect((await initialize(url, { headers: { accept } })).session).toBeUndefined();
    expect(edge.sessions).toBe(2);
  });

  it('is there for its principal only; for others it is as unknown as any', async () => {
    const { session = '' } = await initialize(url);
    expect((await post(url, LIST, inSession(session))).body.result).toBeDefined();
    const unknown = await post(url, LIST, inSession('00000000-0000-4000-8000-000000000000'));
    expect(unknown.status).toBe(404);
    for (const key of ['key-service', 'key-elsewhere']) {
      const foreign = await post(url, LIST, inSession(session, { key }));
      expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
      expect((await other('GET', session, key)).status).toBe(404);
      expect((await other('DELETE', session, key)).status).toBe(404);
    }
    expect((await post(url, LIST, inSession(session))).status).toBe(200);
  });

  it('begins anew where initialize names one that is lost', async () => {
    const lost = '00000000-0000-4000-8000-000000000000';
    const { status, session } = await initialize(url, { headers: { 'mcp-session-id': lost } });
    expect(status).toBe(200);
    expect(session).not.toBe(lost);
    expect((await post(url, LIST, inSession(session ?? ''))).status).toBe(200);
  });

  it('has one stream, and an end', async () => {
    const { session = '' } = await initialize(url);
    const stream = await other('GET', session);
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect((await other('DELETE', session)).status).toBe(200);
    expect(await stream.text()).toBe(': open\n\n');
    expect((await post(url, LIST, inSession(session))).status).toBe(404);
    expect(edge.sessions).toBe(0);
  });

  it('costs a plain call nothing: the hot path answers in it, as it would without', async () => {
    const { session = '' } = await initialize(url);
    const before = edge.hotAnswers;
    const inside = await post(url, LIST, inSession(session));
    expect(inside.headers.get('content-type')).toBe('application/json');
    expect(inside.body).toEqual((await post(url, LIST)).body);
    expect(edge.hotAnswers).toBe(before + 2);
    await post(url, LIST, inSession(session, { key: 'key-service' }));
    expect(edge.hotAnswers).toBe(before + 2);
  });

  it('is not needed: without one GET and DELETE are not allowed', async () => {
    for (const method of ['GET', 'DELETE'] as const) {
      const { status, headers } = await other(method);
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('gives way to a newer one of its principal, and nobody else’s does', async () => {
    const first = (await initialize(url)).session ?? '';
    const key = 'key-service';
    const foreign = (await initialize(url, { key })).session ?? '';
    for (let i = 0; i < limits.sessionsOfPrincipal; i += 1) await initialize(url);
    expect((await post(url, LIST, inSession(first))).status).toBe(404);
    expect((await post(url, LIST, inSession(foreign, { key }))).status).toBe(200);
    expect(edge.sessions).toBe(limits.sessionsOfPrincipal + 1);
  });

  it('is not given when all places are taken; the client is served without', async () => {
    for (const key of ['key-member', 'key-service'])
      for (let i = 0; i < limits.sessionsOfPrincipal; i += 1) await initialize(url, { key });
    const { status, session } = await initialize(url, { key: 'key-agent' });
    expect([status, session]).toEqual([200, undefined]);
    expect(edge.sessions).toBe(limits.sessions);
  });

  it('ends when nobody uses it', async () => {
    const { session = '' } = await initialize(url);
    const used = (await initialize(url)).session ?? '';
    clock += MCP_LIMITS.sessionIdleMs;
    await post(url, LIST, inSession(used));
    clock += 1;
    await setTimeout(3 * RECHECK);
    expect((await post(url, LIST, inSession(session))).status).toBe(404);
    expect((await post(url, LIST, inSession(used))).status).toBe(200);
  });

  it('B40: ends with its credential, and so do its streams', async () => {
    const { session = '' } = await initialize(url);
    const stream = await other('GET', session);
    const asking = post(
      url,
      { ...LIST, method: 'tools/call', params: { name: 'pick_term', arguments: { group: 'g' } } },
      inSession(session),
    );
    await setTimeout(2 * RECHECK);
    revoked.add('key-member');
    const ends = await Promise.allSettled([stream.text(), asking]);
    expect(ends).toHaveLength(2);
    await setTimeout(2 * RECHECK);
    expect(edge.sessions).toBe(0);
    expect(fixture.effects).toEqual([]);
    expect((await post(url, LIST, inSession(session))).status).toBe(401);
  });
});

describe('a subscription of revision 2026-07-28', () => {
  it('B40: ends with its credential', async () => {
    const version = '2026-07-28';
    const meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const listening = fetch(url, {
      method: 'POST',
      headers: {
        authorization: 'Bearer key-member',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      }),
    });
    const response = await listening;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain('subscriptions/acknowledged');
    revoked.add('key-member');
    const ended = reader?.read().then(
      ({ done }) => done,
      () => true,
    );
    expect(await ended).toBe(true);
  });
});

describe('progress', () => {
  const said = (messages: readonly { method?: string; params?: Members }[]) =>
    messages.filter(({ method }) => method === 'notifications/progress').map((m) => m.params ?? {});
  const call = (_meta: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'work_long', arguments: { ms: 200 }, _meta },
  });
  const sends: [
    string,
    (meta: object, headers?: Record<string, string>) => ReturnType<typeof post>,
  ][] = [
    [
      '2026-07-28',
      (_meta, headers = {}) => callModern(url, 'work_long', { ms: 200 }, { _meta }, { headers }),
    ],
    ['2025-11-25', (_meta, headers = {}) => post(url, call(_meta), { headers })],
    [
      '2025-11-25 in a session',
      async (_meta, headers = {}) => {
        const { session = '' } = await initialize(url);
        return post(url, call(_meta), inSession(session, { headers }));
      },
    ],
  ];

  it.each(sends)(
    'comes with a client’s token, and again while the work lasts (%s)',
    async (_name, send) => {
      const { messages, body } = await send({ progressToken: 'p1' });
      const got = said(messages);
      expect(got[0]).toEqual({
        progressToken: 'p1',
        progress: 1,
        total: 3,
        message: 'one of three',
      });
      expect(got.length).toBeGreaterThan(2);
      const values = got.map(({ progress }) => progress as number);
      expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
      expect(body.result).toMatchObject({ structuredContent: { done: true } });
    },
  );

  it.each(sends)('does not come without a token (%s)', async (_name, send) => {
    expect(said((await send({})).messages)).toEqual([]);
  });

  it.each(sends.slice(0, 2))(
    'does not come to a client that takes JSON only (%s)',
    async (_name, send) => {
      const { headers, messages } = await send(
        { progressToken: 'p' },
        { accept: 'application/json' },
      );
      expect(headers.get('content-type')).toBe('application/json');
      expect(messages).toHaveLength(1);
    },
  );

  it('reaches a client of the first SDK line', async () => {
    const client: LegacyClient = await connectLegacy(url, 'key-member');
    const got: number[] = [];
    await client.callTool({ name: 'work_long', arguments: { ms: 100 } }, undefined, {
      onprogress: ({ progress }) => got.push(progress),
    });
    expect(got[0]).toBe(1);
    await client.close();
  });

  it('ends in an abort where the client hangs up', async () => {
    await callModern(
      url,
      'work_long',
      { ms: 10_000 },
      { _meta: { progressToken: 1 } },
      { until: 1 },
    );
    for (let i = 0; i < 50 && fixture.stopped.length === 0; i += 1) await setTimeout(20);
    expect(fixture.stopped).toEqual(['mia']);
  });
});
