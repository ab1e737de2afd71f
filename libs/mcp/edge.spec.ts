import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import {
  connectLegacy,
  connectModern,
  connectStdioLegacy,
  connectStdioModern,
} from '../../test/support/mcp-clients.js';
import { fixtureServer } from '../../test/support/mcp-server.js';

/** What both clients have in common, so that one test serves both. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; annotations?: object | undefined }[] }>;
  listResources(): Promise<{ resources: unknown[] }>;
  readResource(read: { uri: string }): Promise<{ contents: unknown[] }>;
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
  '--conditions=precedent-source',
  '--import',
  './test/support/ts-hooks.mjs',
  'test/support/mcp-stdio.ts',
];
const environment = (key: string) => ({ FIXTURE_KEY: key, PATH: process.env['PATH'] ?? '' });

let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  ({ app, url } = await fixtureServer());
});
afterAll(async () => {
  await app.close();
});

function textOf(result: AnyResult): string {
  const [block, ...more] = result.content as { type: string; text: string }[];
  expect(more).toEqual([]);
  expect(block?.type).toBe('text');
  return block?.text ?? '';
}

const surfaces: readonly (readonly [string, Connect])[] = [
  ['2026-07-28 over HTTP', async (key) => await connectModern(url, key)],
  ['2025-11-25 over HTTP', async (key) => (await connectLegacy(url, key)) as AnyClient],
  [
    '2026-07-28 over stdio',
    async (key) => await connectStdioModern(process.execPath, NODE, environment(key)),
  ],
  [
    '2025-11-25 over stdio',
    async (key) =>
      (await connectStdioLegacy(process.execPath, NODE, environment(key))) as AnyClient,
  ],
];

describe.each(surfaces)('a client of %s', (_name, connect) => {
  const clients = new Map<string, Promise<AnyClient>>();
  const as = (key: string): Promise<AnyClient> => {
    const client = clients.get(key) ?? connect(key);
    clients.set(key, client);
    return client;
  };
  afterAll(async () => {
    for (const client of clients.values()) await (await client).close();
  });

  it('lists what its caller may see, in one order, with all hints', async () => {
    const names = async (key: string) => {
      const { tools } = await (await as(key)).listTools();
      for (const { annotations } of tools)
        expect(Object.values(annotations ?? {}).filter((v) => typeof v === 'boolean')).toHaveLength(
          4,
        );
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

  it('lists and reads the texts for clients', async () => {
    const client = await as('key-agent');
    const { resources } = await client.listResources();
    expect(resources).toEqual([
      expect.objectContaining({ uri: 'fixture://guide/a', name: 'a', title: 'A', size: 7 }),
      expect.objectContaining({ uri: 'fixture://guide/b', name: 'b', title: 'B', size: 7 }),
    ]);
    const { contents } = await client.readResource({ uri: 'fixture://guide/b' });
    expect(contents).toEqual([
      { uri: 'fixture://guide/b', mimeType: 'text/markdown', text: '# b é\n' },
    ]);
    for (const uri of ['fixture://guide/c', 'file:///etc/passwd'])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
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

  it('invariant 2: cannot tell a hidden tool from none', async () => {
    const { callTool } = bound(await as('key-member'));
    const failure = (name: string) =>
      callTool(name).then(
        () => 'an answer',
        (error: unknown) => {
          const { code, message } = error as { code: number; message: string };
          return `${code} ${message}`;
        },
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

describe('over stdio', () => {
  it('a setting narrows the toolsets', async () => {
    const env = { ...environment('key-admin'), FIXTURE_TOOLSETS: 'jobs,rules' };
    const client = await connectStdioModern(process.execPath, NODE, env);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['govern_all', 'lay_out']);
    await client.close();
  });
});

// B42
describe.each([
  ['2026-07-28', connectModern as (url: string, key: string) => Promise<unknown>],
  ['2025-11-25', connectLegacy as (url: string, key: string) => Promise<unknown>],
])('a client of %s', (_name, connect) => {
  it('calls on after the server was restarted', async () => {
    const first = await fixtureServer();
    const client = (await connect(first.url, 'key-member')) as AnyClient;
    const call = () => bound(client).callTool('echo_text', { text: 'still here' });
    expect(await call()).toHaveProperty('structuredContent');
    await first.app.close();
    // The client's pool learns of the closed connection a moment later, as it would in a real restart.
    await setTimeout(100);
    const second = await fixtureServer([], Number(new URL(first.url).port));
    expect(await call()).toHaveProperty('structuredContent');
    await client.close();
    await second.app.close();
  });
});
