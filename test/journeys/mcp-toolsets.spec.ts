import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { connectStdioLegacy } from '../support/mcp-clients.js';

let server: TestApplication;
let data: string;
beforeAll(async () => {
  server = await TestApplication.start();
  data = mkdtempSync(join(tmpdir(), 'precedent-stdio-'));
});
afterAll(async () => {
  await server.close();
  rmSync(data, { recursive: true });
});

async function send(url: string, method: string, params: object, key = server.key) {
  const response = await server.application.app.inject({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    payload: { jsonrpc: '2.0', id: 1, method, params },
  });
  const body = JSON.parse(response.body) as {
    result?: { tools: { name: string }[] };
    error?: { code: number; message: string };
  };
  return { status: response.statusCode, ...body };
}

const names = async (url: string, key?: string): Promise<string[]> =>
  ((await send(url, 'tools/list', {}, key)).result?.tools ?? []).map(({ name }) => name);

describe('toolsets on the whole server', () => {
  it('an address narrows what is listed and what can be called', async () => {
    const all = await names('/mcp');
    expect(all).toContain('resolve_decision_state');
    expect(await names('/mcp?toolsets=decisions')).toContain('resolve_decision_state');
    expect(await names('/mcp?toolsets=evaluation')).not.toContain('resolve_decision_state');
    const call = { name: 'get_workspace_context', arguments: {} };
    const hidden = await send('/mcp?toolsets=evaluation', 'tools/call', call);
    expect(hidden.error).toEqual({ code: -32602, message: 'Unknown tool' });
    expect((await send('/mcp?toolsets=decision', 'tools/list', {})).status).toBe(400);
  });

  it('a credential is limited, and an address never widens it', async () => {
    const issued = await server.call<{ key: string }>('POST', '/v1/credentials', {
      label: 'few',
      toolsets: ['evaluation'],
    });
    expect(issued.status).toBeLessThan(300);
    const { key } = issued.body;
    for (const url of ['/mcp', '/mcp?toolsets=decisions', '/mcp?toolsets=decisions,evaluation'])
      expect(await names(url, key)).not.toContain('resolve_decision_state');
    const call = { name: 'get_workspace_context', arguments: {} };
    const hidden = await send('/mcp?toolsets=decisions', 'tools/call', call, key);
    expect(hidden.error).toEqual({ code: -32602, message: 'Unknown tool' });
  });

  it('a setting narrows them over stdio', async () => {
    const source = ['--conditions=precedent-source', '--import', './test/support/ts-hooks.mjs'];
    const env = {
      PATH: process.env['PATH'] ?? '',
      PRECEDENT_EVENTSTORE: 'memory:',
      PRECEDENT_DATA: data,
    };
    const client = await connectStdioLegacy(
      process.execPath,
      [...source, 'apps/server/src/stdio.ts'],
      { ...env, PRECEDENT_TOOLSETS: 'jobs,evaluation' },
    );
    const listed = (await client.listTools()).tools.map(({ name }) => name);
    expect(listed).toEqual(await names('/mcp?toolsets=jobs,evaluation'));
    expect(listed).not.toContain('resolve_decision_state');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'precedent://guide/audit',
      'precedent://guide/erasure',
      'precedent://guide/evaluation',
      'precedent://guide/evidence',
      'precedent://guide/receipts',
      'precedent://guide/start',
      'precedent://guide/states',
    ]);
    await client.close();
  }, 180_000);
});
