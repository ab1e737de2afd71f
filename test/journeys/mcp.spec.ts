import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isVisible } from '#mcp/tool.js';
import {
  connectLegacy,
  connectModern,
  connectStdioLegacy,
  connectStdioModern,
} from '../support/mcp-clients.js';
import { toolFiles } from '../support/tools.js';
import { plainEnvironment, startServer, type RunningServer } from '../support/server.js';

/** What the owner, a person, sees: all that is declared for people. */
const TOOLS = (await toolFiles())
  .map(({ tool }) => tool)
  .filter((tool) => isVisible(tool, { kind: 'person', role: 'owner' }))
  .map(({ name }) => name)
  .sort();

const MINUTES = {
  source: {
    title: 'Board minutes',
    type: 'meeting_notes',
    text: 'The board decided: payment terms are net 30. Later: payment terms are net 60.',
  },
  records: [
    {
      topic: 'payment terms',
      statement: 'Net 30',
      value: 30,
      effective_from: '2024-01-01',
      status: 'approved',
      evidence: [{ quote: 'payment terms are net 30' }],
    },
    {
      topic: 'payment terms',
      statement: 'Net 60',
      value: 60,
      effective_from: '2026-03-01',
      status: 'approved',
      supersedes: ['#0'],
      evidence: [{ quote: 'payment terms are net 60' }],
    },
  ],
};

/** What both SDK lines have in common, as far as this journey goes. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}
interface Result {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { type: string; text: string }[];
}

/** The whole way through the tools, as an agent would take it. */
async function journey(client: AnyClient): Promise<void> {
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<Result> =>
    (await client.callTool({ name, arguments: args })) as Result;
  const listed = (await client.listTools()).tools.map((t) => t.name);
  expect(listed).toEqual(TOOLS);
  expect((await call('get_workspace_context')).structuredContent).toMatchObject({
    caller: { role: 'owner' },
  });
  const job = (await call('ingest', MINUTES)).structuredContent?.['job_id'] as string;
  for (;;) {
    const { structuredContent: status } = await call('get_ingestion_status', { job_id: job });
    if (status?.['status'] === 'completed') break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const answer = await call('resolve_decision_state', { question: 'Payment terms?' });
  expect(answer.structuredContent).toMatchObject({
    state: 'verified',
    label: 'Current',
    decision: { value: 60, effective_from: '2026-03-01', approved_by: [{ principal: 'owner' }] },
    history: [{ value: 30, state: 'superseded' }],
    evidence: [{ excerpt: 'payment terms are net 60' }],
  });
  expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(answer.structuredContent);
  const history = await call('get_decision_history', { topic: 'payment terms' });
  expect((history.structuredContent?.['timeline'] as unknown[]).length).toBeGreaterThanOrEqual(5);
  const again = (history.structuredContent?.['heads'] as { id: string }[])[0]?.id;
  const refused = await call('review_decision', {
    decision_id: again,
    action: 'approve',
    reason: 'once more',
  });
  expect(refused.isError).toBe(true);
  expect(refused.structuredContent).toBeUndefined();
  expect(JSON.parse(refused.content[0]?.text ?? '')).toMatchObject({
    error: 'already_decided',
    path: 'decision_id',
    fix: expect.any(String),
  });
  const wrong = await call('resolve_decision_state', { question: 'q', as_of: '2026-13-01' });
  expect(JSON.parse(wrong.content[0]?.text ?? '')).toMatchObject({
    error: 'invalid_arguments',
    issues: [{ path: 'as_of' }],
  });
  await expect(call('no_such_tool')).rejects.toMatchObject({ code: -32602 });
  expect((await call('list_pending_decisions')).structuredContent).toMatchObject({ items: [] });
}

describe('real MCP clients on the real server', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer();
  }, 60_000);
  afterAll(() => server.stop());

  it('X-2, X-3: 2026-07-28 over HTTP, results and refusals alike', async () => {
    const client = await connectModern(`${server.url}/mcp`, server.key);
    await journey(client);
    await client.close();
  });

  it('2025-11-25 over HTTP', async () => {
    const client = await connectLegacy(`${server.url}/mcp`, server.key);
    await journey(client);
    await client.close();
  });

  it('a wrong key gets nothing, from initialize on', async () => {
    const wrong = `prec_WRONGKEY_${'x'.repeat(40)}`;
    await expect(connectModern(`${server.url}/mcp`, wrong)).rejects.toThrow();
    await expect(connectLegacy(`${server.url}/mcp`, wrong)).rejects.toThrow();
  });

  it('B42: a restart between two calls is not noticed', async () => {
    const modern = await connectModern(`${server.url}/mcp`, server.key);
    const legacy = await connectLegacy(`${server.url}/mcp`, server.key);
    const port = new URL(server.url).port;
    await server.stop();
    server = await startServer({ dir: server.dir, env: { PRECEDENT_PORT: port } });
    for (const client of [modern, legacy] as unknown as AnyClient[]) {
      const answer = (await client.callTool({
        name: 'resolve_decision_state',
        arguments: { question: 'payment terms' },
      })) as Result;
      expect(answer.structuredContent).toMatchObject({ state: 'verified' });
      await client.close();
    }
  }, 60_000);

  it('the client settings hold the address and key, for their owner alone', () => {
    const file = JSON.parse(readFileSync(`${server.dir}/client.json`, 'utf8')) as {
      mcpServers: { precedent: object };
    };
    expect(file.mcpServers.precedent).toMatchObject({
      url: `${server.url}/mcp`,
      headers: { Authorization: `Bearer ${server.key}` },
    });
  });
});

describe('real MCP clients over stdio', () => {
  const args = ['dist/apps/server/src/stdio.js'];
  const env = (name: string): Record<string, string> => ({
    ...(plainEnvironment() as Record<string, string>),
    PRECEDENT_EVENTSTORE: 'memory:',
    PRECEDENT_WORKSPACE: name,
  });

  it('2026-07-28', async () => {
    const client = await connectStdioModern(process.execPath, args, env('modern'));
    await journey(client);
    await client.close();
  }, 60_000);

  it('2025-11-25', async () => {
    const client = await connectStdioLegacy(process.execPath, args, env('legacy'));
    await journey(client);
    await client.close();
  }, 60_000);
});
