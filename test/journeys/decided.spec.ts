import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { ontologyKit } from '../support/ontology.js';

interface Listed {
  decisions: { id: string; topic: string; statement: string; state: string }[];
  decided: { since?: string; until?: string };
  next_cursor?: string;
}
interface Job {
  records: { decision_id: string }[];
}

const NOW = '2026-09-14T09:21:33Z';
let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start({}, () => Date.parse(NOW));
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

/** Returns the decision's id. */
async function record(topic: string, statement: string, more: object = {}): Promise<string> {
  const job = (await server.ingest({
    source: { title: `${topic} ${statement}`, type: 'note', text: statement },
    records: [{ topic, statement, status: 'approved', evidence: [{ quote: statement }], ...more }],
  })) as unknown as Job;
  return job.records[0]?.decision_id ?? '';
}

async function list(query = ''): Promise<Listed> {
  const { status, body } = await server.call<Listed>('GET', `/v1/decisions?${query}`);
  expect(status).toBe(200);
  return body;
}

const statements = ({ decisions }: Listed): string[] => decisions.map((d) => d.statement);

describe('decisions made in a time (B19)', () => {
  beforeAll(async () => {
    const old = await record('budget', 'old budget', { decided_at: '2025-12-01' });
    await record('budget', 'new budget', { decided_at: '2026-09-13', supersedes: [old] });
    const wrong = await record('travel', 'wrong travel', { decided_at: '2026-09-13T10:00:00Z' });
    await record('hiring', 'still open', { decided_at: '2026-09-13', status: 'candidate' });
    await record('office', 'next office', {
      decided_at: '2026-09-13T12:00:00Z',
      effective_from: '2027-01-01',
    });
    await server.call('POST', `/v1/decisions/${wrong}/reviews`, {
      action: 'revoke',
      reason: 'a slip',
    });
  });

  it('B16: lists what is approved and has not ended, that decided last first; on request also what has ended', async () => {
    expect(statements(await list())).toEqual(['next office', 'new budget']);
    const { decisions } = await list('include_ended=true');
    expect(decisions.map((d) => `${d.statement} ${d.state}`)).toEqual([
      'next office approved',
      'wrong travel revoked',
      'new budget approved',
      'old budget superseded',
    ]);
    expect(statements(await list('include_ended=false'))).toEqual(['next office', 'new budget']);
    for (const text of ['0', 'no', '', 'FALSE'])
      expect((await server.call('GET', `/v1/decisions?include_ended=${text}`)).status).toBe(400);
  });

  it('on both axes of time: before a revocation was known the decision is listed', async () => {
    const { body } = await server.call<{ timeline: { kind: string; position: string }[] }>(
      'GET',
      '/v1/topics/travel/history',
    );
    const revoked = Number(body.timeline.find((e) => e.kind === 'revoked')?.position);
    expect(statements(await list(`known_at=${revoked - 1}`))).toContain('wrong travel');
    expect(statements(await list(`known_at=${revoked}`))).not.toContain('wrong travel');
    expect(statements(await list('as_of=2026-01-01&include_ended=false'))).toContain('new budget');
  });

  it('keeps to a window and to a topic, and says the window', async () => {
    expect(await list('decided_since=yesterday&topic=budget&include_ended=true')).toMatchObject({
      decisions: [{ statement: 'new budget', topic: 'budget' }],
      decided: { since: '2026-09-13T00:00:00.000Z', until: '2026-09-14T00:00:00.000Z' },
    });
    expect(statements(await list('decided_until=2026-01-01&include_ended=true'))).toEqual([
      'old budget',
    ]);
    expect((await list()).decided).toEqual({});
  });

  it('a window in which nothing can lie, a word that is no day and a topic that is none are refused by their field', async () => {
    const refused = async (query: string): Promise<unknown> => {
      const { status, body } = await server.call('GET', `/v1/decisions?${query}`);
      return [status, body['path'] ?? (body['issues'] as { path: string }[])[0]?.path];
    };
    expect(await refused('decided_since=today&decided_until=yesterday')).toEqual([
      400,
      'decided_until',
    ]);
    expect(await refused('decided_since=tomorrow')).toEqual([400, 'decided_since']);
    expect(await refused('topic=nothing')).toEqual([400, 'topic']);
    expect(await refused('cursor=x')).toEqual([400, 'cursor']);
  });

  it('the pages of one are the list', async () => {
    const pages: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await list(`include_ended=true&limit=1${from}`);
      pages.push(...statements(page));
      cursor = page.next_cursor;
    }
    expect(pages).toEqual(statements(await list('include_ended=true')));
  });

  it('after a merge a decision is listed in the topic in which it stands', async () => {
    await record('vacation', 'thirty days', { decided_at: '2026-03-01' });
    await record('holidays', 'a form in advance', {
      decided_at: '2026-03-02',
      scope: { of: 'forms' },
    });
    await ontologyKit(server).change({
      op: 'merge_topics',
      topic: 'holidays',
      into: 'vacation',
    });
    const merged = async (): Promise<string[]> =>
      (await list('decided_until=2026-03-03&topic=vacation')).decisions.map(
        ({ topic, statement }) => `${topic}: ${statement}`,
      );
    for (let tries = 0; tries < 500 && (await merged()).length < 2; tries += 1) await delay(10);
    expect(await merged()).toEqual(['vacation: a form in advance', 'vacation: thirty days']);
  });
});
