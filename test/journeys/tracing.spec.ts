import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assemble, type Application } from '../../apps/server/src/application.js';
import { createLog } from '../../apps/server/src/log.js';
import { readSettings } from '../../apps/server/src/settings.js';
import { Tracing } from '../../apps/server/src/tracing.js';

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
}

const KEY = `prec_TESTTEST_${'k'.repeat(40)}`;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const OTHER = 'b9c7c989f97918e16cd43dd8448eb211';
const PARENT = 'b7ad6b7169203331';

describe('traces', () => {
  const spans: Span[] = [];
  const sent: string[] = [];
  const collector = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString();
      sent.push(text);
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  const dir = mkdtempSync(join(tmpdir(), 'precedent-tracing-'));
  let application: Application;

  beforeAll(async () => {
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
    const settings = readSettings({
      PRECEDENT_EVENTSTORE: 'memory:',
      PRECEDENT_DATA: dir,
      PRECEDENT_BOOTSTRAP_KEY: KEY,
    });
    application = await assemble(settings, createLog('fatal'), Date.now, new Tracing({ url }));
  });
  afterAll(() => {
    collector.closeAllConnections();
    collector.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('follow a request from the caller’s own span to the append, by header and by MCP _meta, and tell no content', async () => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const added = await application.app.inject({
      method: 'POST',
      url: '/v1/principals',
      headers: { ...headers, traceparent: `00-${TRACE}-${PARENT}-01` },
      payload: JSON.stringify({ name: 'Zyxq Personne', kind: 'person' }),
    });
    expect(added.statusCode).toBe(201);
    const called = await application.app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      payload: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'get_workspace_context',
          arguments: {},
          _meta: { traceparent: `00-${OTHER}-${PARENT}-01` },
        },
      }),
    });
    expect(called.statusCode).toBe(200);
    // What has ended is sent before the server is gone.
    await application.close();

    const of = (name: string, traceId: string): Span | undefined =>
      spans.find((s) => s.name === name && s.traceId === traceId);
    const request = of('POST /v1/principals', TRACE);
    const message = of('RegisterPrincipal', TRACE);
    const append = of('append', TRACE);
    expect(request?.parentSpanId).toBe(PARENT);
    expect(message?.parentSpanId).toBe(request?.spanId);
    expect(append?.parentSpanId).toBe(message?.spanId);
    const context = spans.filter((s) => s.name === 'GetWorkspaceContext');
    expect(context).toMatchObject([{ traceId: OTHER, parentSpanId: PARENT }]);
    const everything = sent.join('\n');
    expect(everything).not.toContain('Zyxq');
    expect(everything).not.toContain(KEY);
    process.stdout.write(`tracing: ${spans.length} spans arrived\n`);
  });
});
