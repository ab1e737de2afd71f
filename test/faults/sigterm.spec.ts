import { afterAll, describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { wholeLog } from '../support/fault-server.js';
import { startServer, type RunningServer } from '../support/server.js';

const dirs: string[] = [];

afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

interface Reply {
  status: number;
  connection: string | undefined;
  body: Record<string, unknown>;
}

/** A member to add: one durable event, by a door that does not depend on read models. */
function principal(n: number): string {
  return JSON.stringify({ request_id: `sigterm-${n}`, name: `Person ${n}`, kind: 'person' });
}

function headers(server: RunningServer): Record<string, string> {
  return { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
}

/** One request whose body is held back until `release`: the server has begun it and cannot end it. */
function held(server: RunningServer, agent: Agent, n: number) {
  const body = principal(n);
  const request = httpRequest(`${server.url}/v1/principals`, {
    method: 'POST',
    agent,
    headers: { ...headers(server), 'content-length': Buffer.byteLength(body) },
  });
  const reply = replyOf(request);
  request.write(body.slice(0, 10));
  return { reply, release: () => request.end(body.slice(10)) };
}

function replyOf(request: ReturnType<typeof httpRequest>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response: IncomingMessage) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          connection: response.headers.connection,
          body: JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>,
        });
      });
    });
  });
}

function send(server: RunningServer, agent: Agent, n: number): Promise<Reply> {
  const request = httpRequest(`${server.url}/v1/principals`, {
    method: 'POST',
    agent,
    headers: headers(server),
  });
  const reply = replyOf(request);
  request.end(principal(n));
  return reply;
}

async function refusesConnections(server: RunningServer): Promise<boolean> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}

/** Principals that were said to be registered and that the log does not have. */
async function notStored({ dir }: RunningServer, replies: readonly Reply[]): Promise<unknown[]> {
  const registered = (await wholeLog(dir))
    .filter(({ type }) => type === 'PrincipalRegistered')
    .map(({ payload }) => (JSON.parse(payload) as { principal: unknown }).principal);
  return replies.map(({ body }) => body['principal']).filter((id) => !registered.includes(id));
}

async function started(): Promise<RunningServer> {
  const server = await startServer();
  dirs.push(server.dir);
  return server;
}

describe('SIGTERM (B52)', () => {
  it('calls under way are answered and stored, new connections refused, exit 0 within 2 s of the last reply', async () => {
    const server = await started();
    const agent = new Agent({ keepAlive: true });
    // Connections that are alive and idle, as clients leave them.
    await Promise.all([1, 2, 3].map((n) => send(server, agent, n)));
    const slow = [11, 12, 13].map((n) => held(server, agent, n));
    await delay(300);
    const exit = server.stop('SIGTERM');
    await delay(300);
    expect(await refusesConnections(server)).toBe(true);
    await delay(500);
    for (const { release } of slow) release();
    const replies = await Promise.all(slow.map(({ reply }) => reply));
    const last = performance.now();
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(replies.map(({ connection }) => connection)).toEqual(['close', 'close', 'close']);
    expect(await exit).toBe(0);
    const took = performance.now() - last;
    expect(took).toBeLessThan(2_000);
    agent.destroy();

    expect(await notStored(server, replies)).toEqual([]);
    process.stdout.write(
      `SIGTERM: 3 calls under way, 3 answered and stored, exit ${Math.round(took)} ms after the last reply\n`,
    );
  });

  it('an idle server with open keep-alive connections and an open stream ends within 2 s', async () => {
    const server = await started();
    const agent = new Agent({ keepAlive: true });
    await Promise.all([1, 2, 3, 4].map((n) => send(server, agent, n)));
    const stream = fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: {
        ...headers(server),
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'sigterm', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    const opened = await stream;
    expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const ended = opened.text();
    const from = performance.now();
    expect(await server.stop('SIGTERM')).toBe(0);
    expect(performance.now() - from).toBeLessThan(2_000);
    // The stream ends as streams end; it is not torn.
    await expect(ended).resolves.toEqual(expect.any(String));
    agent.destroy();
  });

  it('under load no acknowledged write is lost and no call is cut', async () => {
    const server = await started();
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const acknowledged: Reply[] = [];
    let refused = 0;
    let n = 100;
    let stopping = false;
    const client = async (): Promise<void> => {
      while (!stopping) {
        try {
          const reply = await send(server, agent, n++);
          if (reply.status === 201) acknowledged.push(reply);
        } catch (error) {
          // Only connections that never came about: a request that was taken is answered.
          expect((error as NodeJS.ErrnoException).code).toBe('ECONNREFUSED');
          refused += 1;
          return;
        }
      }
    };
    const clients = Promise.all(Array.from({ length: 16 }, client));
    while (acknowledged.length < 64) await delay(20);
    const exit = server.stop('SIGTERM');
    await clients;
    stopping = true;
    expect(await exit).toBe(0);
    agent.destroy();
    expect(await notStored(server, acknowledged)).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(64);
    process.stdout.write(
      `SIGTERM under load: ${acknowledged.length} acknowledged writes, 0 lost, ${refused} connections refused\n`,
    );
  });
});
