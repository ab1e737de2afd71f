import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { connectLegacy, connectModern } from '../support/mcp-clients.js';
import { initialize, post } from '../support/mcp-raw.js';

// Older clients that can ask their user, at the whole server with all that stands in front of it.

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const CONTEXT = { name: 'get_workspace_context', arguments: {} };

let server: TestApplication;
let url: string;

async function listen(port = 0): Promise<void> {
  server = await TestApplication.start();
  await server.application.app.listen(port, '127.0.0.1');
  url = `${await server.application.app.getUrl()}/mcp`;
}

beforeAll(() => listen());
afterAll(async () => {
  await server.close();
});

const streamOf = (session: string, key: string): Promise<Response> =>
  fetch(url, {
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      'mcp-session-id': session,
    },
  });

describe('a session on the whole server', () => {
  it.each([
    ['2025-11-25', connectLegacy],
    ['2026-07-28', connectModern],
  ])('serves a client of %s that can ask its user', async (_revision, connect) => {
    const client = await connect(url, server.key, async () => ({ action: 'cancel' }));
    const got = await client.callTool(CONTEXT);
    expect(got.structuredContent).toMatchObject({ caller: { role: 'owner' } });
    await client.close();
  });

  it('B40: ends, with its stream, when the key is revoked over REST', async () => {
    const key = await server.member('leaver', 'member');
    const { session = '' } = await initialize(url, { key });
    expect(server.application.edge.sessions).toBeGreaterThan(0);
    const stream = await streamOf(session, key);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const ended = stream.text().then(
      () => true,
      () => true,
    );
    const short = key.split('_')[1] ?? '';
    const revoked = await server.call('POST', `/v1/credentials/${short}/revocation`, {
      reason: 'left',
    });
    expect(revoked.status).toBe(200);
    const at = Date.now();
    expect(await ended).toBe(true);
    process.stdout.write(`session: stream ended ${Date.now() - at} ms after the revocation\n`);
    const headers = { 'mcp-session-id': session };
    expect((await post(url, LIST, { key, headers })).status).toBe(401);
    // For its owner's successor it is not there either.
    expect((await post(url, LIST, { key: server.key, headers })).status).toBe(404);
  });

  it('B42, B52: a restart ends it at once; the client is told so and begins anew', async () => {
    const { key } = server;
    const { session = '' } = await initialize(url, { key });
    const stream = await streamOf(session, key);
    const port = Number(new URL(url).port);
    const at = Date.now();
    await server.close();
    process.stdout.write(`session: server with an open stream closed in ${Date.now() - at} ms\n`);
    expect(Date.now() - at).toBeLessThan(10_000);
    await stream.text().catch(() => undefined);

    await listen(port);
    const headers = { 'mcp-session-id': session };
    expect((await post(url, LIST, { key, headers })).status).toBe(404);
    const again = await initialize(url, { key, headers });
    expect(again.status).toBe(200);
    const inAgain = { 'mcp-session-id': again.session ?? '' };
    expect((await post(url, LIST, { key, headers: inAgain })).body.result).toBeDefined();
    // Without a session nothing was lost.
    expect((await post(url, LIST, { key })).body.result).toBeDefined();
  });
});
