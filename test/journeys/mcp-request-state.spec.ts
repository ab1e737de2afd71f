import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyInstance } from 'fastify';
import { SpendRequestState } from '#access/module.js';
import type { Caller } from '#kernel/context.js';
import type { McpEdge } from '#mcp/edge.js';
import { TestApplication } from '../support/application.js';
import { askingTools, type AskingTools } from '../support/mcp-asking.js';
import { fixtureEdge } from '../support/mcp-fixture.js';
import { callModern } from '../support/mcp-raw.js';
import { fixtureServer } from '../support/mcp-server.js';

const dir = mkdtempSync(join(tmpdir(), 'precedent-state-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});
const settings = { PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir };

interface Door {
  edge: McpEdge;
  app: FastifyInstance;
  url: string;
  fixture: AskingTools;
}

/** The fixture's tools that ask, on the real ledger: what each door hands out is spent there. */
async function door(server: TestApplication): Promise<Door> {
  const fixture = askingTools();
  const { app: nest } = server.application;
  const buses = { commands: nest.get(CommandBus), queries: nest.get(QueryBus) };
  const spend = (caller: Caller, use: { id: string; tool: string; question: string }) =>
    buses.commands.execute(new SpendRequestState(caller, use.id, use.tool, use.question));
  const requestState = { secret: Buffer.alloc(32, 3), spend };
  const edge = fixtureEdge([], { tools: fixture.tools, buses, requestState });
  const authenticate = (bearer: string) => server.application.authenticate(bearer);
  return { edge, fixture, ...(await fixtureServer([], 0, edge, authenticate)) };
}

const answers = { 'term_choice:g1': { action: 'accept', content: { term: 'g1-2' } } };

async function ask({ url }: Door, key: string): Promise<string> {
  const { body } = await callModern(url, 'pick_term', { group: 'g1' }, {}, { key });
  return body.result?.['requestState'] as string;
}

async function answer({ url }: Door, key: string, requestState: string): Promise<string> {
  const more = { inputResponses: answers, requestState };
  const { body } = await callModern(url, 'pick_term', { group: 'g1' }, more, { key });
  return body.result?.['isError'] === true
    ? (JSON.parse(body.result['content'][0].text) as { error: string }).error
    : String(body.result?.['resultType']);
}

describe('a request state on the real ledger', () => {
  it('X-5: is spent once, by two doors and after a restart, and only its use is recorded', async () => {
    const first = await TestApplication.start(settings);
    const { key } = first;
    const doors = [await door(first), await door(first)] as const;
    const before = await first.end();
    const state = await ask(doors[0], key);
    const unused = await ask(doors[0], key);
    expect(await first.end()).toBe(before);

    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => answer(doors[i % 2 === 0 ? 0 : 1], key, state)),
    );
    expect(replies.filter((reply) => reply === 'input_required')).toHaveLength(1);
    expect(replies.filter((reply) => reply === 'request_state_spent')).toHaveLength(19);
    expect(await first.end()).toBe(before + 1);
    expect(doors.flatMap(({ fixture }) => fixture.effects)).toEqual(['term_choice:g1=g1-2']);
    for (const { app } of doors) await app.close();
    await first.close();

    const second = await TestApplication.start(settings);
    const later = await door(second);
    expect(await answer(later, key, state)).toBe('request_state_spent');
    expect(await answer(later, key, unused)).toBe('input_required');
    process.stdout.write('request state: 20 answers at once on two doors, 1 taken\n');
    await later.app.close();
    await second.close();
  });

  it('is sealed with a secret that only the owner of the data folder can read', () => {
    expect(statSync(join(dir, 'request-state.key')).mode & 0o777).toBe(0o600);
  });
});
