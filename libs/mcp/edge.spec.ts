import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import {
  connectLegacy,
  connectModern,
  connectStdioLegacy,
  connectStdioModern,
} from '../../test/support/mcp-clients.js';
import { fixtureCallers, fixtureEdge, type Defect } from '../../test/support/mcp-fixture.js';
import { mountMcp } from './mount.js';

let defects: Defect[] = [];

async function start(port = 0): Promise<{ app: FastifyInstance; url: string }> {
  const app = fastify();
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-before', 'kept');
    const key = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const caller = fixtureCallers[key];
    if (caller) request.caller = caller;
    else return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'no' });
  });
  await mountMcp(app, fixtureEdge(defects));
  return { app, url: `${await app.listen({ port, host: '127.0.0.1' })}/mcp` };
}

/** What both clients have in common, so that one test serves both. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; annotations?: object | undefined }[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<AnyResult>;
  close(): Promise<void>;
}
interface AnyResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}
type Connect = (key: string) => Promise<AnyClient>;

const NODE = [
  '--conditions=source',
  '--import',
  './test/support/from-source.mjs',
  'test/support/mcp-stdio.ts',
];
const environment = (key: string) => ({ FIXTURE_KEY: key, PATH: process.env['PATH'] ?? '' });

let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  ({ app, url } = await start());
});
afterAll(async () => {
  await app.close();
});
beforeEach(() => {
  defects = [];
});

function textOf(result: AnyResult): string {
  const [block, ...more] = result.content as { type: string; text: string }[];
  expect(more).toEqual([]);
  expect(block?.type).toBe('text');
  return block?.text ?? '';
}

const surfaces: readonly (readonly [string, Connect])[] = [
  ['2026-07-28 over HTTP', async (key) => (await connectModern(url, key)) as AnyClient],
  ['2025-11-25 over HTTP', async (key) => (await connectLegacy(url, key)) as AnyClient],
  [
    '2026-07-28 over stdio',
    async (key) =>
      (await connectStdioModern(process.execPath, NODE, environment(key))) as AnyClient,
  ],
  [
    '2025-11-25 over stdio',
    async (key) =>
      (await connectStdioLegacy(process.execPath, NODE, environment(key))) as AnyClient,
  ],
];

describe.each(surfaces)('a client of %s', (_name, connect) => {
  let client: AnyClient | undefined;
  const as = async (key: string) => (client = await connect(key));
  afterEach(async () => {
    await client?.close();
  });

  it('lists what its caller may see, in one order, with all hints', async () => {
    const names = async (key: string) => {
      const { tools } = await (await as(key)).listTools();
      for (const { annotations } of tools)
        expect(Object.values(annotations ?? {}).filter((v) => typeof v === 'boolean')).toHaveLength(
          4,
        );
      await client?.close();
      return tools.map(({ name }) => name);
    };
    expect(await names('key-admin')).toEqual([
      'echo_text',
      'fail_somehow',
      'govern_all',
      'lay_out',
    ]);
    expect(await names('key-member')).toEqual(['echo_text', 'fail_somehow', 'lay_out']);
    expect(await names('key-agent')).toEqual(['echo_text', 'fail_somehow']);
  });

  it('gets a structured result and the same as text, unseen characters escaped', async () => {
    const { callTool } = bound(await as('key-member'));
    const result = await callTool('echo_text', {
      text: 'a\u202eb',
      times: 2,
      scope: { 'r\u200b': 'eu' },
      value: { deep: ['\u0007', 0.1] },
      lines: [{ text: 'x'.repeat(99) + '\u200b', since: '2026-01-31' }],
    });
    expect(result.isError ?? false).toBe(false);
    expect(result.structuredContent).toEqual({
      text: 'a\\u{202e}b',
      times: 2,
      scope: { 'r\\u{200b}': 'eu' },
      value: { deep: ['\\u{7}', 0.1] },
      lines: [{ text: 'x'.repeat(99) + '\\u{200b}', since: '2026-01-31' }],
      principal: 'mia',
      note: null,
    });
    expect(JSON.parse(textOf(result))).toEqual(result.structuredContent);
  });

  it('gets the layout that a tool promises', async () => {
    const result = await bound(await as('key-service')).callTool('lay_out');
    expect(textOf(result)).toBe('laid\\u{200b}out');
    expect(result.structuredContent).toEqual({ done: true });
  });

  it('gets a refusal as text alone', async () => {
    const result = await bound(await as('key-member')).callTool('fail_somehow', { how: 'refusal' });
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty('structuredContent');
    expect(JSON.parse(textOf(result))).toEqual({
      error: 'already_decided',
      message: 'it is decided\\u{202e}',
      path: 'how',
      issues: [{ path: 'how', problem: 'was decided before' }],
      fix: 'look again',
    });
  });

  it('is told every wrong argument', async () => {
    const { callTool } = bound(await as('key-member'));
    const result = await callTool('echo_text', {
      loud: 'false',
      lines: [{ since: 'soon' }],
      odd: 1,
    });
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty('structuredContent');
    const body = JSON.parse(textOf(result)) as { error: string; issues: { path: string }[] };
    expect(body.error).toBe('invalid_arguments');
    expect(body.issues.map(({ path }) => path).sort()).toEqual([
      'lines[0].since',
      'lines[0].text',
      'loud',
      'odd',
      'text',
    ]);
    expect(await callTool('echo_text')).toMatchObject({ isError: true });
  });

  it('cannot tell a hidden tool from none', async () => {
    const { callTool } = bound(await as('key-member'));
    const failure = (name: string) =>
      callTool(name).then(
        () => 'an answer',
        (error: { code: number; message: string }) => `${error.code} ${error.message}`,
      );
    const hidden = await failure('govern_all');
    expect(hidden).toMatch(/^-32602 .*Unknown tool/);
    expect(await failure('no_such_tool')).toBe(hidden);
    expect(await failure('constructor')).toBe(hidden);
  });

  it('learns nothing of a defect but its number', async () => {
    const { callTool } = bound(await as('key-member'));
    for (const how of ['crash', 'misfit']) {
      const result = await callTool('fail_somehow', { how });
      expect(result).toMatchObject({ isError: true });
      const body = JSON.parse(textOf(result)) as { error: string; message: string };
      expect(body.error).toBe('internal_error');
      expect(body.message).toMatch(/incident [0-9a-f]{12}$/);
      expect(textOf(result)).not.toMatch(/secret|schema/);
    }
  });

  it('is told that a number would have been rounded', async () => {
    const { callTool } = bound(await as('key-member'));
    await expect(callTool('echo_text', { text: 'x', value: { n: 2 ** 60 } })).rejects.toThrow(
      /value\.n.*beyond 2\^53/,
    );
  });
});

function bound(client: AnyClient) {
  return {
    callTool: (name: string, args?: Record<string, unknown>) =>
      client.callTool({ name, ...(args ? { arguments: args } : {}) }),
  };
}

describe('over HTTP', () => {
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      body,
      headers: {
        authorization: 'Bearer key-member',
        'content-type': 'application/json',
        ...headers,
      },
    });
  const list = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';

  it('leaves a missing credential to the hook in front', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(url, { method, ...(method === 'POST' ? { body: 'x' } : {}) });
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
  });

  it('allows POST only', async () => {
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: 'Bearer key-member', accept: 'text/event-stream' };
      const response = await fetch(url, { method, headers });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('answers JSON whatever is accepted, and keeps headers set before', async () => {
    for (const accept of ['*/*', 'application/json', 'text/event-stream', 'text/html']) {
      const response = await post(list, { accept });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-before')).toBe('kept');
      expect(await response.json()).toMatchObject({ id: 7, result: { tools: [{}, {}, {}] } });
    }
  });

  it.each([
    ['no JSON', '{"jsonrpc":', -32700, null],
    ['nothing', '', -32700, null],
    ['half a character', new Uint8Array([0x22, 0xc3, 0x22]), -32700, null],
    [
      'a rounded integer',
      '{"jsonrpc":"2.0","id":"q","method":"m","params":{"arguments":{"a":[9007199254740993]}}}',
      -32602,
      'q',
    ],
    [
      'a number beyond all',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":1e400}}',
      -32602,
      1,
    ],
    ['minus nought', '{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":-0}}', -32602, 1],
  ])('refuses %s', async (_name, body, code, id) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code }, id });
  });

  it('names the place of a rounded integer as the caller knows it', async () => {
    const response = await post(
      '{"jsonrpc":"2.0","id":"\u200b","method":"tools/call","params":{"name":"echo_text","arguments":{"a":[{"b":9007199254740993}]}}}',
    );
    expect(await response.json()).toMatchObject({
      id: '\u200b',
      error: { data: { error: 'invalid_arguments', path: 'a[0].b' } },
    });
  });

  it('refuses another media type', async () => {
    expect((await post(list, { 'content-type': 'text/plain' })).status).toBe(415);
  });

  it('takes notifications', async () => {
    const response = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  it('records a defect under the number that the caller was given', async () => {
    const response = await post(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail_somehow","arguments":{"how":"crash"}}}',
    );
    expect(defects).toHaveLength(1);
    expect(defects[0]?.error).toMatchObject({ message: 'a secret: crash' });
    expect(await response.text()).toContain(defects[0]?.incident);
  });
});

// B42
describe.each([
  ['2026-07-28', connectModern as (url: string, key: string) => Promise<unknown>],
  ['2025-11-25', connectLegacy as (url: string, key: string) => Promise<unknown>],
])('a client of %s', (_name, connect) => {
  it('calls on after the server was restarted', async () => {
    const first = await start();
    const client = (await connect(first.url, 'key-member')) as AnyClient;
    const call = () => bound(client).callTool('echo_text', { text: 'still here' });
    expect(await call()).toHaveProperty('structuredContent');
    await first.app.close();
    const second = await start(Number(new URL(first.url).port));
    expect(await call()).toHaveProperty('structuredContent');
    await client.close();
    await second.app.close();
  });
});
