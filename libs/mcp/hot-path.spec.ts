import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { fixtureEdge, type Defect } from '../../test/support/mcp-fixture.js';
import {
  canonicalSamples,
  everyTwist,
  twistedSamples,
  type Sample,
} from '../../test/support/mcp-requests.js';
import { fixtureServer } from '../../test/support/mcp-server.js';
import { sendRaw, type WireAnswer } from '../../test/support/mcp-wire.js';
import type { McpEdge } from './edge.js';

interface Side {
  edge: McpEdge;
  defects: Defect[];
  app: FastifyInstance;
  port: number;
}

async function side(hotPath: boolean): Promise<Side> {
  const defects: Defect[] = [];
  const edge = fixtureEdge(defects, { hotPath });
  const { app, url } = await fixtureServer(defects, 0, edge);
  return { edge, defects, app, port: Number(new URL(url).port) };
}

const agent = new Agent({ keepAlive: true });
let hot: Side;
let cold: Side;
beforeAll(async () => {
  hot = await side(true);
  cold = await side(false);
});
afterAll(async () => {
  agent.destroy();
  await hot.app.close();
  await cold.app.close();
});

/** Incident numbers are drawn by lot. */
async function ask(
  { port, defects }: Side,
  { sent }: Pick<Sample, 'sent'>,
): Promise<WireAnswer & { defects: number }> {
  const before = defects.length;
  const answer = await sendRaw(agent, port, sent);
  const body = answer.body.replace(/incident [0-9a-f]{12}/g, 'incident');
  return { ...answer, body, defects: defects.length - before };
}

/** The one answer of both sides, and whether the hot path gave it. */
async function same(sample: Pick<Sample, 'sent'>): Promise<{ body: string; taken: boolean }> {
  const before = hot.edge.hotAnswers;
  const answer = await ask(hot, sample);
  expect(answer).toEqual(await ask(cold, sample));
  return { body: answer.body, taken: hot.edge.hotAnswers > before };
}

const headers = [
  ['Authorization', 'Bearer key-member'],
  ['Content-Type', 'application/json'],
] as const;
const call = (args: string) => ({
  path: '/mcp',
  headers: [...headers],
  body: Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo_text","arguments":${args}}}`,
  ),
});

describe('the hot path', () => {
  it('answers every canonical request that has a result, and as the SDK does', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(canonicalSamples, async (sample) => {
        const got = await same(sample);
        expect(got.taken).toBe(got.body.startsWith('{"result":'));
        if (got.taken) taken += 1;
      }),
      { numRuns: 600 },
    );
    expect(taken).toBeGreaterThan(150);
    process.stdout.write(`hot path: 600 canonical requests, ${taken} answered on it\n`);
  });

  it('answers as the SDK does whatever is odd about a request, or leaves it alone', async () => {
    let taken = 0;
    for (const sample of everyTwist(1)) if ((await same(sample)).taken) taken += 1;
    expect(taken).toBeGreaterThan(50);
  });

  it('answers as the SDK does whatever two or three things are odd about a request', async () => {
    await fc.assert(
      fc.asyncProperty(twistedSamples, async (sample) => {
        await same(sample);
      }),
      { numRuns: 900 },
    );
  });

  it('says how long an answer is, and so does the SDK', async () => {
    for (const side of [hot, cold]) {
      const { headers, body } = await ask(side, { sent: call('{"text":"é"}') });
      expect(headers).toEqual([
        'x-before: kept',
        `content-length: ${body.length}`,
        'content-type: application/json',
        'Connection: keep-alive',
        'Keep-Alive: timeout=72',
      ]);
    }
  });

  it('leaves a request that names a session alone', async () => {
    const { headers, ...rest } = call('{"text":"x"}');
    const sent = { ...rest, headers: [...headers, ['Mcp-Session-Id', 'x'] as const] };
    expect((await same({ sent })).taken).toBe(false);
  });

  it('answers as the SDK does however deep a message is nested', async () => {
    const outcomes = new Map<number, string>();
    for (const depth of [59, 60, 61, 62, 63, 64, 1_000, 5_000, 20_000]) {
      const sent = call(`{"text":"x","value":${'['.repeat(depth)}${']'.repeat(depth)}}`);
      const { body } = await same({ sent });
      const { error } = JSON.parse(body) as { error?: { code: number } };
      outcomes.set(depth, error ? String(error.code) : 'taken');
    }
    expect(outcomes.get(59)).toBe('taken');
    expect(outcomes.get(64)).toBe('-32602');
    expect(outcomes.get(20_000)).toBe('-32602');
  });

  it('shows each credential its toolsets, and no more than it asks for', async () => {
    let taken = 0;
    const lists: string[] = [];
    for (const key of ['key-admin', 'key-few', 'key-none', 'key-odd', 'key-agent-owner'])
      for (const query of [
        '',
        '?toolsets=rules,decisions',
        '?toolsets=jobs',
        '?toolsets=annotation',
      ])
        for (const session of [undefined, '2025-11-25']) {
          const head = [
            ['Authorization', `Bearer ${key}`],
            ['Content-Type', 'application/json'],
            ...(session === undefined ? [] : [['MCP-Protocol-Version', session] as const]),
          ] as const;
          const sent = {
            path: `/mcp${query}`,
            headers: [...head],
            body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
          };
          const got = await same({ sent });
          if (got.taken) taken += 1;
          const { result } = JSON.parse(got.body) as { result: { tools: { name: string }[] } };
          lists.push(`${key}${query}: ${result.tools.map(({ name }) => name).join(' ')}`);
        }
    expect(taken).toBe(40);
    expect([...new Set(lists)]).toEqual([
      'key-admin: echo_text fail_somehow govern_all lay_out',
      'key-admin?toolsets=rules,decisions: echo_text fail_somehow lay_out',
      'key-admin?toolsets=jobs: govern_all',
      'key-admin?toolsets=annotation: ',
      'key-few: govern_all lay_out',
      'key-few?toolsets=rules,decisions: lay_out',
      'key-few?toolsets=jobs: govern_all',
      'key-few?toolsets=annotation: ',
      'key-none: ',
      'key-none?toolsets=rules,decisions: ',
      'key-none?toolsets=jobs: ',
      'key-none?toolsets=annotation: ',
      'key-odd: echo_text fail_somehow',
      'key-odd?toolsets=rules,decisions: echo_text fail_somehow',
      'key-odd?toolsets=jobs: ',
      'key-odd?toolsets=annotation: ',
      'key-agent-owner: echo_text fail_somehow',
      'key-agent-owner?toolsets=rules,decisions: echo_text fail_somehow',
      'key-agent-owner?toolsets=jobs: ',
      'key-agent-owner?toolsets=annotation: ',
    ]);
  });

  it('outlives a client that hangs up', async () => {
    const { path, body } = call('{"text":"x"}');
    for (const wait of [0, 1, 2, 3]) {
      const req = request({ port: hot.port, host: '127.0.0.1', method: 'POST', path, agent });
      for (const [name, value] of headers) req.setHeader(name, value);
      req.on('error', () => undefined);
      req.end(body);
      setTimeout(() => req.destroy(), wait);
      await new Promise((resolve) => req.on('close', resolve));
    }
    expect((await same({ sent: call('{"text":"still here"}') })).taken).toBe(true);
  });

  it('is left with the edge', async () => {
    const sides = [await side(true), await side(false)];
    const sent = call('{"text":"x"}');
    for (const { edge } of sides) await edge.close();
    const [first, second] = await Promise.all(sides.map((one) => ask(one, { sent })));
    expect(first).toEqual(second);
    expect(sides[0]?.edge.hotAnswers).toBe(0);
    for (const { app } of sides) await app.close();
  });
});
