import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { connectStdioLegacy } from '../support/mcp-clients.js';
import { otherClients, programOf, run, type Ran } from '../support/mcp-other-clients.js';

// doors.md, "Clients that must work": programs of others, over a socket, against the whole server.

let server: TestApplication;
let url: string;
let home: string;
let tools: string[];
let there = false;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'precedent-clients-'));
  there = await otherClients();
  server = await TestApplication.start();
  await server.application.app.listen(0, '127.0.0.1');
  url = `${await server.application.app.getUrl()}/mcp`;
  const listed = await server.application.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });
  const { result } = JSON.parse(listed.body) as { result: { tools: { name: string }[] } };
  tools = result.tools.map(({ name }) => name);
}, 300_000);
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

/** They keep files in the home folder and must find none of ours. */
const environment = () => ({ PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1' });
const program = (path: string, args: readonly string[]): Promise<Ran> =>
  run(process.execPath, [path, ...args], { cwd: home, env: environment(), timeout: 100_000 });
const bearer = () => `Authorization: Bearer ${server.key}`;

describe('the MCP Inspector', () => {
  const inspect = (...args: string[]): Promise<Ran> =>
    program(programOf('@modelcontextprotocol/inspector', 'mcp-inspector'), [
      '--cli',
      ...[url, '--transport', 'http', '--header', bearer()],
      ...args,
    ]);

  it('finds no portability error in any tool (--strict)', async () => {
    if (!there) return;
    const { code, out, err } = await inspect('--method', 'tools/list', '--strict');
    expect([code, err]).toEqual([0, expect.stringMatching(/^(?:Warning: [^]*\n)?0 errors|^$/)]);
    // A decision's value is any JSON there is; no schema without unions can say more of it.
    const paths = [...err.matchAll(/^ +Path: (.+)$/gm)].map(([, path]) => path ?? '');
    for (const path of paths) expect(path).toMatch(/\.value$/);
    const listed = JSON.parse(out) as { tools: { name: string }[] };
    expect(listed.tools.map(({ name }) => name)).toEqual(tools);
    process.stdout.write(
      `inspector --strict: ${tools.length} tools, no error, ${paths.length} notes on value\n`,
    );
  }, 120_000);

  it('calls a tool and reads a guide', async () => {
    if (!there) return;
    const call = await inspect('--method', 'tools/call', '--tool-name', 'get_workspace_context');
    expect(call.out).toContain('"structuredContent"');
    const read = await inspect('--method', 'resources/read', '--uri', 'precedent://guide/start');
    expect(read.out).toContain('resolve_decision_state');
  }, 120_000);
});

describe('mcp-remote', () => {
  it('carries a stdio client’s calls', async () => {
    if (!there) return;
    const flags = ['--allow-http', '--transport', 'http-only', '--header', bearer()];
    const args = [programOf('mcp-remote', 'mcp-remote'), url, ...flags];
    const client = await connectStdioLegacy(process.execPath, args, environment());
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(tools);
    const got = await client.callTool({ name: 'get_workspace_context', arguments: {} });
    expect(got['structuredContent']).toMatchObject({ caller: { role: 'owner' } });
    await client.close();
  }, 120_000);
});

describe('mcporter', () => {
  it('lists the tools and calls one', async () => {
    if (!there) return;
    const config = join(home, 'mcporter.json');
    const precedent = { baseUrl: url, headers: { Authorization: `Bearer ${server.key}` } };
    writeFileSync(config, JSON.stringify({ mcpServers: { precedent }, imports: [] }));
    const path = programOf('mcporter', 'mcporter');
    const listed = await program(path, ['--config', config, 'list', 'precedent', '--json']);
    for (const name of tools) expect(listed.out).toContain(`"${name}"`);
    const call = ['call', 'precedent.get_workspace_context', '--output', 'json'];
    const { code, out } = await program(path, ['--config', config, ...call]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ caller: { role: 'owner' } });
  }, 120_000);
});
