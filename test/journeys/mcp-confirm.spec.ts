import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { connectLegacy, connectModern, type AskUser } from '../support/mcp-clients.js';

let server: TestApplication;
let url: string;
beforeAll(async () => {
  server = await TestApplication.start({ PRECEDENT_CONFIRM: 'governance' });
  await server.application.app.listen(0, '127.0.0.1');
  const { port } = server.application.app.getHttpServer().address() as { port: number };
  url = `http://127.0.0.1:${port}/mcp`;
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

async function candidate(topic: string): Promise<string> {
  const job = await server.ingest({
    source: { title: topic, type: 'note', text: `We say ${topic}.` },
    records: [{ topic, statement: topic, status: 'candidate', evidence: [{ quote: topic }] }],
  });
  const [record] = job['records'] as { decision_id: string }[];
  return record?.decision_id ?? '';
}

const eras = { '2026-07-28': connectModern, '2025-11-25': connectLegacy };

interface Result {
  isError?: boolean;
  content: { text: string }[];
}

async function review(era: keyof typeof eras, input: object, ask?: AskUser): Promise<object> {
  const client = await eras[era](url, server.key, ask);
  const { isError, content } = (await client.callTool({
    name: 'review_decision',
    arguments: { reason: 'agreed', ...input },
  })) as unknown as Result;
  await client.close();
  return { isError: isError === true, ...(JSON.parse(content[0]?.text ?? '{}') as object) };
}

describe.each(['2026-07-28', '2025-11-25'] as const)('X-8: confirmation by the user, %s', (era) => {
  it('a tool that governs runs after a yes, and after nothing else', async () => {
    const decision_id = await candidate(`yes ${era}`);
    const approve = { decision_id, action: 'approve' };
    const before = await server.end();
    const shown: string[] = [];
    const say =
      (action: 'accept' | 'decline' | 'cancel', confirmed = false): AskUser =>
      ({ message }) => {
        shown.push(message);
        return Promise.resolve({
          action,
          ...(action === 'accept' ? { content: { confirmed } } : {}),
        });
      };
    for (const no of [say('decline'), say('cancel')])
      expect(await review(era, approve, no)).toMatchObject({
        isError: true,
        error: 'not_confirmed',
      });
    expect(await server.end()).toBe(before + 2); // that the two answers were taken, and no more
    expect(await review(era, approve, say('accept', false))).toMatchObject({
      error: 'not_confirmed',
    });
    expect(await review(era, approve, say('accept', true))).toMatchObject({
      isError: false,
      state: 'approved',
    });
    expect(new Set(shown)).toEqual(new Set(['Review a decision: approve. Shall this be done?']));
  });

  it('nobody is asked about wrong arguments; a client that cannot ask is refused, and told the other way', async () => {
    const never: AskUser = () => Promise.reject(new Error('asked'));
    expect(await review(era, { decision_id: 'x', action: 'destroy' }, never)).toMatchObject({
      error: 'invalid_arguments',
      path: 'action',
    });
    const decision_id = await candidate(`mute ${era}`);
    const before = await server.end();
    expect(await review(era, { decision_id, action: 'approve' })).toMatchObject({
      error: 'user_cannot_be_asked',
      fix: expect.stringContaining('REST'),
    });
    expect(await server.end()).toBe(before);
  });
});
