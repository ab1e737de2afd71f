import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { askingTools, type AskingTools } from '../../test/support/mcp-asking.js';
import {
  connectLegacy,
  connectModern,
  connectStdioLegacy,
  connectStdioModern,
  type AskUser,
} from '../../test/support/mcp-clients.js';
import { fixtureEdge, type Defect } from '../../test/support/mcp-fixture.js';
import { callModern, initialize, post } from '../../test/support/mcp-raw.js';
import { fixtureServer } from '../../test/support/mcp-server.js';
import { STATE_LIVES_MS } from './request-state.js';

interface AnyClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}
interface Result {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { text: string }[];
}
type Connect = (key: string, ask?: AskUser) => Promise<AnyClient>;

const NODE = [
  '--conditions=precedent-source',
  '--import',
  './test/support/ts-hooks.mjs',
  'test/support/mcp-stdio.ts',
];
const environment = (key: string) => ({
  FIXTURE_KEY: key,
  FIXTURE_ASKS: '1',
  PATH: process.env['PATH'] ?? '',
});

let fixture: AskingTools;
const defects: Defect[] = [];
let clock = Date.now();
let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  fixture = askingTools();
  const edge = fixtureEdge(defects, { tools: fixture.tools, clock: () => clock });
  ({ app, url } = await fixtureServer(defects, 0, edge));
});
afterAll(async () => {
  await app.close();
});
beforeEach(() => {
  fixture.effects.length = 0;
  defects.length = 0;
});

const surfaces: readonly (readonly [string, string, Connect])[] = [
  ['2026-07-28 over HTTP', '2026-07-28', (key, ask) => connectModern(url, key, ask)],
  ['2025-11-25 over HTTP', '2025-11-25', (key, ask) => connectLegacy(url, key, ask)],
  [
    '2026-07-28 over stdio',
    '2026-07-28',
    (key, ask) => connectStdioModern(process.execPath, NODE, environment(key), ask),
  ],
  [
    '2025-11-25 over stdio',
    '2025-11-25',
    (key, ask) => connectStdioLegacy(process.execPath, NODE, environment(key), ask),
  ],
];

describe.each(surfaces)('a client of %s', (name, revision, connect) => {
  let user: AskUser = () => Promise.reject(new Error('nobody is there'));
  let asking: AnyClient;
  let silent: AnyClient;
  beforeAll(async () => {
    asking = await connect('key-member', (form) => user(form));
    silent = await connect('key-member');
  });
  afterAll(async () => {
    await asking.close();
    await silent.close();
  });
  const pick = async (client: AnyClient, group: string): Promise<Result> =>
    (await client.callTool({ name: 'pick_term', arguments: { group } })) as Result;

  it('M-33, X-5: is asked one question a round, and the tool goes on with the answers', async () => {
    const seen: { message: string; requestedSchema: object }[] = [];
    user = async (form) => {
      seen.push(form);
      return seen.length === 1
        ? { action: 'accept', content: { term: 'g1-2' } }
        : { action: 'accept', content: { yes: true } };
    };
    const { structuredContent, isError } = await pick(asking, 'g1');
    expect(isError ?? false).toBe(false);
    expect(structuredContent).toEqual({
      term: 'term_choice:g1=g1-2',
      sure: true,
      asked: ['term_choice:g1', 'sure'],
      revision,
    });
    expect(seen.map(({ message }) => message)).toEqual(['Which term fits g1?', 'Are you sure?']);
    //
    expect(seen[0]?.requestedSchema).toMatchObject({
      type: 'object',
      properties: {
        term: {
          type: 'string',
          title: 'Term',
          oneOf: [
            { const: 'g1-1', title: 'liver (UBERON:0002107) p(fits)=0.83 L1' },
            { const: 'g1-2', title: 'lung (UBERON:0002048) (unranked: decider unavailable)' },
          ],
        },
      },
      required: ['term'],
    });
    if (name.endsWith('HTTP')) expect(fixture.effects).toEqual(['term_choice:g1=g1-2']);
  });

  it('M-37: may decline', async () => {
    user = async () => ({ action: 'decline' });
    const { structuredContent } = await pick(asking, 'g2');
    expect(structuredContent).toMatchObject({ term: null, asked: ['term_choice:g2'] });
  });

  it('M-36: is refused an answer that was not offered, and nothing happens', async () => {
    user = async () => ({ action: 'accept', content: { term: 'g9-1' } });
    const result = await pick(asking, 'g3');
    expect(result.isError).toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({
      error: 'invalid_answer',
      issues: [{ path: 'term', problem: 'is none of the options that were offered' }],
    });
    expect(fixture.effects).toEqual([]);
  });

  it('X-5: is never asked when it did not declare that it can, and is told the other way', async () => {
    const result = await pick(silent, 'g4');
    expect(result.isError).toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual({
      error: 'user_cannot_be_asked',
      message: 'the user has to decide, and this client did not declare that it can ask him',
      issues: [{ path: 'term_choice:g4', problem: 'needs an answer of the user' }],
      fix: 'decide the group term_choice with decide_term',
    });
  });
});

describe('a request state', () => {
  const ask = async (key = 'key-member', group = 'g1'): Promise<string> => {
    const { body } = await callModern(url, 'pick_term', { group }, {}, { key });
    expect(body.result).toMatchObject({ resultType: 'input_required' });
    return String(body.result?.['requestState']);
  };
  const accept = { 'term_choice:g1': { action: 'accept', content: { term: 'g1-1' } } };
  const answer = (
    requestState: unknown,
    { name = 'pick_term', args = { group: 'g1' }, key = 'key-member', ...more } = {},
  ) => callModern(url, name, args, { inputResponses: accept, requestState, ...more }, { key });
  const REFUSED = {
    code: -32602,
    message: 'Invalid or expired requestState',
    data: { error: 'invalid_request_state', path: 'requestState' },
  };

  it('X-6, M-34: carries ids only', async () => {
    const state = await ask();
    const payload = JSON.parse(Buffer.from(state.split('.')[0] ?? '', 'base64url').toString());
    expect(payload).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      tool: 'pick_term',
      asked: ['term_choice:g1'],
      about: { run_id: 'run-1' },
      exp: clock + STATE_LIVES_MS,
    });
  });

  it('X-5: lets the call go on', async () => {
    const { body } = await answer(await ask());
    expect(body.result).toMatchObject({ inputRequests: { sure: {} } });
    expect(fixture.effects).toEqual(['term_choice:g1=g1-1']);
  });

  it('X-5: is refused in every changed form', async () => {
    const state = await ask();
    let refused = 0;
    for (let at = 0; at < state.length; at += 1) {
      const other = state[at] === 'A' ? 'B' : 'A';
      const { body } = await answer(state.slice(0, at) + other + state.slice(at + 1));
      expect(body.error).toMatchObject(REFUSED);
      refused += 1;
    }
    for (const odd of [
      `${state}A`,
      `${state}-TAMPERED`,
      state.slice(0, -1),
      '',
      '.',
      5,
      null,
      {},
    ]) {
      expect((await answer(odd)).body.error?.code).toBe(-32602);
      refused += 1;
    }
    process.stdout.write(`request state: ${refused} changed forms refused\n`);
    expect(fixture.effects).toEqual([]);
  });

  it.each([
    ['another principal', { key: 'key-service' }],
    ['another tool', { name: 'pick_other' }],
    ['other arguments', { args: { group: 'g2' } }],
  ])('X-5: is refused for %s', async (_what, change) => {
    expect((await answer(await ask(), change)).body.error).toMatchObject(REFUSED);
    expect(fixture.effects).toEqual([]);
  });

  it('X-5: is refused in another workspace', async () => {
    const state = await ask('key-member');
    expect((await answer(state, { key: 'key-elsewhere' })).body.error).toMatchObject(REFUSED);
  });

  it('X-5: is refused when it is too old', async () => {
    const state = await ask();
    clock += STATE_LIVES_MS - 1;
    expect((await answer(state)).body.result).toBeDefined();
    const late = await ask();
    clock += STATE_LIVES_MS;
    expect((await answer(late)).body.error).toMatchObject(REFUSED);
  });

  it('X-5: takes one answer, and another of ten at once none', async () => {
    const state = await ask();
    const replies = await Promise.all(Array.from({ length: 10 }, () => answer(state)));
    const texts = replies.map(({ body }) => JSON.stringify(body.result));
    expect(texts.filter((text) => text.includes('input_required'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('request_state_spent'))).toHaveLength(9);
    expect(fixture.effects).toEqual(['term_choice:g1=g1-1']);
  });

  it('X-5: is asked for again where an answer is missing, comes without it, or is none', async () => {
    for (const more of [
      { requestState: await ask() },
      { inputResponses: accept },
      { inputResponses: { other: accept['term_choice:g1'] }, requestState: await ask() },
      { inputResponses: { 'term_choice:g1': { action: 'perhaps' } }, requestState: await ask() },
      { inputResponses: { 'term_choice:g1': { action: 'accept' } }, requestState: await ask() },
    ]) {
      const { body } = await callModern(url, 'pick_term', { group: 'g1' }, more);
      expect(body.result).toMatchObject({ inputRequests: { 'term_choice:g1': {} } });
    }
    expect(fixture.effects).toEqual([]);
  });

  it('X-5: is refused by a server that has another secret', async () => {
    const state = await ask();
    const requestState = { secret: Buffer.alloc(32, 8), spend: async () => undefined };
    const edge = fixtureEdge([], { tools: askingTools().tools, requestState });
    const other = await fixtureServer([], 0, edge);
    const more = { inputResponses: accept, requestState: state };
    const { body } = await callModern(other.url, 'pick_term', { group: 'g1' }, more);
    expect(body.error).toMatchObject(REFUSED);
    await other.app.close();
  });
});

describe('an older client without a session', () => {
  it.each([null, {}, { elicitation: null }, { elicitation: {} }, { elicitation: { form: {} } }, 5])(
    'X-5: is not believed what it says in metadata of the newer era: %j',
    async (capabilities) => {
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      const params = { name: 'pick_term', arguments: { group: 'g1' }, _meta };
      const { body } = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      expect(body.result?.['content'][0].text).toContain('user_cannot_be_asked');
    },
  );
});

describe('a call with many questions', () => {
  const COUNT = 150;
  const all = Array.from({ length: COUNT }, (_, n) => `${n} decline`);

  it('M-33, M-37: asks a client of 2025-11-25 all of them, each once', async () => {
    const client = await connectLegacy(url, 'key-member', async () => ({ action: 'decline' }));
    const got = await client.callTool({ name: 'ask_many', arguments: { count: COUNT } });
    expect(got['structuredContent']).toEqual({ done: true });
    expect(fixture.effects).toEqual(all);
    await client.close();
  });

  it('M-33, M-37: asks a client of 2026-07-28 all of them, each once', async () => {
    let more: Record<string, unknown> = {};
    let longest = 0;
    for (let round = 0; round < COUNT; round += 1) {
      const { result } = (await callModern(url, 'ask_many', { count: COUNT }, more)).body;
      const [key = ''] = Object.keys(result?.['inputRequests'] as object);
      const requestState = String(result?.['requestState']);
      longest = Math.max(longest, requestState.length);
      more = { requestState, inputResponses: { [key]: { action: 'decline' } } };
    }
    const { result } = (await callModern(url, 'ask_many', { count: COUNT }, more)).body;
    expect(result?.['structuredContent']).toEqual({ done: true });
    expect(fixture.effects).toEqual(all);
    process.stdout.write(`request state: ${COUNT} rounds, ${longest} characters at most\n`);
  });
});

describe('a form', () => {
  it.each([
    ['2025-06-18', { enum: ['g1-1', 'g1-2'], enumNames: [expect.any(String), expect.any(String)] }],
    ['2025-11-25', { oneOf: [{ const: 'g1-1' }, { const: 'g1-2' }] }],
  ])('X-7: is written for a client of %s', async (revision, field) => {
    const { session = '' } = await initialize(url, { revision });
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': revision };
    const call = post(
      url,
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'pick_term', arguments: { group: 'g1' } },
      },
      { headers, until: 1 },
    );
    const asked = (await call).body;
    expect(asked).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'form', requestedSchema: { properties: { term: field } } },
    });
    await fetch(url, {
      method: 'DELETE',
      headers: { ...headers, authorization: 'Bearer key-member' },
    });
  });
});
