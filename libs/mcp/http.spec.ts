import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import type { Defect } from '../../test/support/mcp-fixture.js';
import { fixtureServer } from '../../test/support/mcp-server.js';

const defects: Defect[] = [];
let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  ({ app, url } = await fixtureServer(defects));
});
afterAll(async () => {
  await app.close();
});
beforeEach(() => {
  defects.length = 0;
});

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

  it.each([
    ['/mcp?toolsets=decision', 'toolsets[0]', 'is no toolset'],
    ['/mcp?toolsets=rules,', 'toolsets[1]', 'is empty'],
    ['/mcp?toolsets=', 'toolsets[0]', 'is empty'],
  ])('refuses %s and names the toolsets', async (path, place, problem) => {
    const headers = { authorization: 'Bearer key-member', 'content-type': 'application/json' };
    const response = await fetch(new URL(path, url), { method: 'POST', body: list, headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32602,
        message: `Invalid params: ${place}: ${problem}`,
        data: {
          error: 'unknown_toolset',
          message: `${place}: ${problem}`,
          path: 'toolsets',
          issues: [{ path: place, problem }],
          fix: expect.stringContaining('decisions, evaluation, rules, jobs, annotation'),
        },
      },
    });
  });

  it('answers for a tool outside the toolsets as for none', async () => {
    const headers = { authorization: 'Bearer key-member', 'content-type': 'application/json' };
    const answers = await Promise.all(
      ['lay_out', 'no_such_tool'].map(async (name) => {
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name },
        });
        const path = '/mcp?toolsets=decisions';
        const response = await fetch(new URL(path, url), { method: 'POST', body, headers });
        return [response.status, await response.text()];
      }),
    );
    expect(answers[0]?.[1]).toContain('"code":-32602,"message":"Unknown tool"');
    expect(answers[0]).toEqual(answers[1]);
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
