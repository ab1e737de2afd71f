import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TOOLSETS, type PrincipalKind, type Role, type Toolset } from '#kernel/context.js';
import { MISSION_TOOLS } from '../policy/mission-tools.js';
import { TestApplication } from '../support/application.js';
import { proved } from '../support/proved.js';
import { toolFiles } from '../support/tools.js';

const SEED = Number(process.env['MODEL_SEED'] ?? Date.now() % 1_000_000_000);
const HOUR_MS = 3_600_000;

let later = 0;
const server = await TestApplication.start({}, () => Date.now() + later);
const built = new Set((await toolFiles()).map(({ tool }) => tool.name));
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

async function post<T = Record<string, string>>(path: string, body: object): Promise<T> {
  const reply = await server.call<T>('POST', `/v1/${path}`, body);
  if (reply.status >= 300) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Sent as it is, on no connection. */
async function exchange(request: {
  method: string;
  url: string;
  headers: Record<string, string>;
  payload?: string;
}): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  const { method, ...rest } = request;
  const reply = await server.application.app.inject({ method: method as 'GET', ...rest });
  return { status: reply.statusCode, headers: reply.headers, body: reply.body };
}

interface Rpc {
  result?: { tools?: { name: string; annotations: Record<string, unknown> }[] };
  error?: { code: number; message: string };
}

async function rpc(method: string, params: object, key: string, query = ''): Promise<Rpc> {
  const { body } = await server.call<Rpc>(
    'POST',
    `/mcp${query}`,
    { jsonrpc: '2.0', id: 1, method, params },
    key,
  );
  return body;
}

/** Keys that were once good, and one that is. */
const { principal: member } = await post('members', { name: 'mia', role: 'member' });
const live = (await post('credentials', { principal: member })).key ?? '';
const revoked = await post('credentials', { principal: member });
await post(`credentials/${revoked.short ?? ''}/revocation`, { reason: 'lost' });
const expired = await post('credentials', {
  principal: member,
  expires_at: new Date(Date.now() + HOUR_MS).toISOString(),
});
later = 2 * HOUR_MS;

const letter = fc.constantFrom(...'abcXYZ019_.-~+/= é');
/** A real key with something changed. */
const mutated = fc
  .tuple(fc.constantFrom(server.key, live), fc.nat(60), letter, fc.nat(4))
  .map(([key, place, other, how]) => {
    const at = place % key.length;
    const ways = [
      key.slice(0, at) + other + key.slice(at + 1),
      key.slice(0, at) + key.slice(at + 1),
      key.slice(0, at) + other + key.slice(at),
      key.slice(0, at),
      [...key].reverse().join(''),
    ];
    return ways[how] ?? '';
  })
  .filter((key) => key.trim() !== server.key && key.trim() !== live);

const authorization = fc.oneof(
  fc.constant(undefined),
  mutated.map((key) => `Bearer ${key}`),
  fc.constantFrom(revoked.key, expired.key).map((key) => `Bearer ${key ?? ''}`),
  fc
    .tuple(fc.constantFrom('Basic', 'Token', 'Bearer,', 'Bearer:', ''), fc.constant(live))
    .map(([scheme, key]) => `${scheme} ${key}`),
  fc.constant(`Bearer ${live} ${live}`),
  fc.constant(`Bearer ${live}, Bearer ${live}`),
  fc.string({ unit: fc.constantFrom(...' Bearprec_,;="xX9'), maxLength: 60 }),
);

/** A good key where no credential is looked for. */
const elsewhere = fc.constantFrom<Record<string, string>>(
  {},
  { 'x-api-key': live },
  { cookie: `access_token=${live}` },
  { 'proxy-authorization': `Bearer ${live}` },
  { 'x-forwarded-authorization': `Bearer ${live}` },
  { 'mcp-session-id': live },
);

const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS');
const path = fc.oneof(
  fc.constantFrom('/mcp', '/mcp?toolsets=decisions', `/mcp?access_token=${live}`, '/mcp/'),
  fc.constantFrom('/v1/workspace', '/v1/answers', '/v1/ingestions', '/v1/events', '/v1/members'),
  fc
    .array(fc.constantFrom('x', '%20', 'decisions', '1', '%00', 'A', '{id}'), { maxLength: 4 })
    .map((parts) => `/v1/${parts.join('/')}`),
);
const envelope = fc.constantFrom(
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'notifications/initialized',
  'notifications/cancelled',
  'subscriptions/listen',
);
const message = fc.oneof(
  fc.tuple(envelope, fc.option(fc.nat(9), { nil: undefined })).map(([method, id]) => ({
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    method,
    params: { name: 'get_workspace_context', arguments: {}, protocolVersion: '2025-11-25' },
  })),
  fc.jsonValue(),
);
const payload = fc.oneof(
  fc.constant(undefined),
  message.map((body) => JSON.stringify(body)),
  fc.array(message, { maxLength: 3 }).map((batch) => JSON.stringify(batch)),
  fc.constantFrom('{"broken', '', '\u0000', '['.repeat(1_000)),
);
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'text/plain', 'multipart/form-data', 'x'),
    accept: fc.constantFrom('application/json', 'text/event-stream', 'x/y'),
    'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', '1'),
    'x-http-method-override': fc.constantFrom('GET', 'DELETE'),
    'x-original-url': fc.constant('/health/live'),
  },
  { requiredKeys: [] },
);

describe('the doors', () => {
  it(`X-4, invariant 1: any message with a missing, unknown, expired or revoked credential is answered 401 (MODEL_SEED=${SEED})`, async () => {
    expect((await server.call('GET', '/v1/workspace', undefined, live)).status).toBe(200);
    expect(new Set([live, revoked.key, expired.key, server.key]).size).toBe(4);
    const end = await server.end();
    const doors = { mcp: 0, rest: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.record({ method, path, payload, headers, elsewhere, authorization }),
        async (sent) => {
          const reply = await exchange({
            method: sent.method,
            url: sent.path,
            headers: {
              ...sent.headers,
              ...sent.elsewhere,
              ...(sent.authorization === undefined ? {} : { authorization: sent.authorization }),
            },
            ...(sent.payload === undefined ? {} : { payload: sent.payload }),
          });
          doors[sent.path.startsWith('/mcp') ? 'mcp' : 'rest'] += 1;
          expect(reply.status).toBe(401);
          expect(reply.headers['www-authenticate']).toMatch(/^Bearer/);
          expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/);
          if (sent.method === 'HEAD') return;
          const { error, detail: _detail } = JSON.parse(reply.body) as Record<string, unknown>;
          expect(error).toBe('unauthenticated');
        },
      ),
      { numRuns: 600, seed: SEED },
    );
    expect(await server.end()).toBe(end);
    proved('messages without a credential that holds', {
      'over MCP': doors.mcp,
      'over REST': doors.rest,
      'let in': 0,
    });
  }, 60_000);
});

interface Who {
  key: string;
  kind: PrincipalKind;
  role: Role;
  limit: readonly Toolset[] | undefined;
}

const KINDS: readonly (readonly [PrincipalKind, Role])[] = [
  ['person', 'member'],
  ['person', 'approver'],
  ['person', 'admin'],
  ['person', 'owner'],
  ['agent', 'member'],
  ['service', 'member'],
  ['service', 'admin'],
];
const subset = fc.subarray([...TOOLSETS], { minLength: 1 });

/** Each kind of member with keys for everything and for some toolsets. */
async function callers(): Promise<Who[]> {
  const limits = fc.sample(subset, { numRuns: 3 * KINDS.length, seed: SEED });
  const found: Who[] = [];
  for (const [i, [kind, role]] of KINDS.entries()) {
    const { principal } = await post('members', { name: `${kind} ${role}`, kind, role });
    for (const limit of [undefined, ...limits.slice(3 * i, 3 * i + 3)]) {
      const issued = await post('credentials', {
        principal,
        ...(limit ? { toolsets: limit } : {}),
      });
      found.push({ key: issued.key ?? '', kind, role, limit });
    }
  }
  return found;
}

/** What the mission lets this caller see, of what is built. */
function mayCall({ kind, role, limit }: Who, asked: readonly Toolset[] | undefined): string[] {
  return MISSION_TOOLS.filter(({ name, toolset, role: needed }) => {
    if (!built.has(name)) return false;
    if (limit?.includes(toolset) === false || asked?.includes(toolset) === false) return false;
    // Governing depends on mode, owner's tools on the person; what everybody may see is refused to some only when it is called.
    return needed === 'owner' ? kind === 'person' && role === 'owner' : true;
  })
    .map(({ name }) => name)
    .sort();
}

describe('the surface of a caller', () => {
  const scenario = fc.record({
    who: fc.nat(1_000),
    asked: fc.option(subset, { nil: undefined }),
    rules: fc.option(
      fc.record({ mode: fc.constantFrom('reviewed', 'peer'), four_eyes: fc.boolean() }),
      { freq: 5, nil: undefined },
    ),
  });

  it(`X-1, O-02, O-03, F-02, F-08, invariants 2, 3: tools/list holds what the mission gives him, as the mission marks it, and all else cannot be called (MODEL_SEED=${SEED})`, async () => {
    const all = await callers();
    const counted = { lists: 0, shown: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(scenario, async ({ who: n, asked, rules }) => {
        if (rules) await post('organisation/settings', rules);
        const who = all[n % all.length];
        if (!who) throw new Error('nobody');
        const query = asked ? `?toolsets=${asked.join(',')}` : '';
        const listed = (await rpc('tools/list', {}, who.key, query)).result?.tools ?? [];
        const names = listed.map(({ name }) => name);
        expect(names).toEqual(mayCall(who, asked));
        for (const { name, annotations } of listed) {
          const mission = MISSION_TOOLS.find((tool) => tool.name === name);
          expect([name, annotations['readOnlyHint']]).toEqual([name, mission?.readOnly]);
          if (mission?.readOnly) expect(annotations['destructiveHint']).toBe(false);
          for (const hint of ['readOnly', 'destructive', 'idempotent', 'openWorld'])
            expect(typeof annotations[`${hint}Hint`]).toBe('boolean');
        }
        const end = await server.end();
        const hidden = MISSION_TOOLS.map(({ name }) => name).filter(
          (name) => !names.includes(name),
        );
        const none = await rpc(
          'tools/call',
          { name: 'no_such_tool', arguments: {} },
          who.key,
          query,
        );
        expect(none.error?.code).toBe(-32602);
        for (const name of hidden) {
          const { result, error } = await rpc(
            'tools/call',
            { name, arguments: {} },
            who.key,
            query,
          );
          expect([name, result, error]).toEqual([
            name,
            undefined,
            { ...none.error, message: none.error?.message.replace('no_such_tool', name) },
          ]);
        }
        expect(await server.end()).toBe(end);
        counted.lists += 1;
        counted.shown += names.length;
        counted.refused += hidden.length;
      }),
      { numRuns: 40, seed: SEED },
    );
    proved('surfaces of arbitrary callers', {
      callers: all.length,
      lists: counted.lists,
      'tools shown': counted.shown,
      'hidden tools refused': counted.refused,
    });
  }, 60_000);
});
