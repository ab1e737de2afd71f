import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectModern, type ModernClient } from '../support/mcp-clients.js';
import { startServer, type RunningServer } from '../support/server.js';

interface Decision {
  id: string;
  statement: string;
  value?: unknown;
  scope: Record<string, string>;
  effective_from?: string;
  approved_by: { principal: string; at: string }[];
  approved_at: string;
  relations?: { kind: string; decision_id: string }[];
}
interface Answer {
  state: string;
  label: string;
  reason: string;
  topic?: { topic: string };
  decision?: Decision;
  alternatives: Decision[];
  history: (Decision & { state: string; superseded_by?: string })[];
  conflicts: { id: string; claims: string[]; would_be_resolved_by: string[] }[];
  evidence: { source_id: string; excerpt: string }[];
  sources: { source_id: string; title: string }[];
  ontology_version: number;
}

let server: RunningServer;
let client: ModernClient;
beforeAll(async () => {
  server = await startServer();
  client = await connectModern(`${server.url}/mcp`, server.key);
}, 60_000);
afterAll(async () => {
  await client.close();
  await server.stop();
});

async function call<T>(name: string, args: Record<string, unknown> = {}): Promise<T> {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: args });
  if (isError === true) throw new Error(JSON.stringify(content));
  return structuredContent as T;
}

const ask = (question: string, more: Record<string, unknown> = {}): Promise<Answer> =>
  call<Answer>('resolve_decision_state', { question, ...more });

/** Ingests approved records, each quoting itself from one text; the ids of their decisions. */
async function decide(title: string, ...records: Record<string, unknown>[]): Promise<string[]> {
  const text = `${title}\n${records.map(({ statement }) => `It was decided: ${String(statement)}`).join('\n')}`;
  const job = await settled({
    source: { title, type: 'meeting_notes', text },
    records: records.map((record) => ({
      status: 'approved',
      evidence: [{ quote: record['statement'] }],
      ...record,
    })),
  });
  expect(job.records.map(({ outcome }) => outcome)).toEqual(records.map(() => 'stored'));
  return job.records.map(({ decision_id }) => decision_id);
}

interface Job {
  status: string;
  records: { outcome: string; decision_id: string }[];
}

async function settled(input: Record<string, unknown>): Promise<Job> {
  const { job_id } = await call<{ job_id: string }>('ingest', input);
  for (;;) {
    const job = await call<Job>('get_ingestion_status', { job_id });
    if (job.status === 'completed') return job;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('what an answer contains, asked by an agent', () => {
  it('O-10: get_workspace_context takes nothing, says how workspace and ontology stand, and is to be called first', async () => {
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === 'get_workspace_context');
    expect(tool?.inputSchema.required ?? []).toEqual([]);
    expect(tool?.description).toMatch(/first/i);
    expect(await call('get_workspace_context')).toMatchObject({
      workspace: { id: 'main' },
      ontology: { status: 'none', version: 0 },
      caller: { role: 'owner' },
    });
  });

  it('O-12: a topic, a scope and a request_id may be left out or given', async () => {
    await decide('Travel policy', {
      topic: 'hotel rates',
      statement: 'A night may cost 150 EUR in Germany.',
      value: 150,
      scope: { country: 'de' },
    });
    const plain = await ask('hotel rates');
    expect(plain).toMatchObject({ state: 'insufficient_evidence', alternatives: [{ value: 150 }] });
    const scoped = await ask('What may a night cost?', {
      topic: 'hotel rates',
      scope: { country: 'de' },
    });
    expect(scoped).toMatchObject({ state: 'verified', label: 'Current', decision: { value: 150 } });
    const kept = await ask('hotel rates', { scope: { country: 'de' }, request_id: 'r-1' });
    expect(await ask('hotel rates', { scope: { country: 'de' }, request_id: 'r-1' })).toEqual(kept);
  });

  it('QO-1, O-16, O-17, O-18, O-20: the decision with its value, scope and first day, who approved it and when, what it replaced, and what it rests on', async () => {
    const [old, current] = await decide(
      'Board minutes of March',
      {
        topic: 'payment terms',
        statement: 'Invoices are paid within 30 days.',
        value: { days: 30 },
        scope: { region: 'eu' },
        effective_from: '2024-01-01',
      },
      {
        topic: 'payment terms',
        statement: 'Invoices are paid within 60 days.',
        value: { days: 60 },
        scope: { region: 'eu' },
        effective_from: '2026-03-01',
        supersedes: ['#0'],
      },
    );
    const answer = await ask('payment terms', { scope: { region: 'eu' } });
    expect(answer).toMatchObject({
      state: 'verified',
      decision: {
        id: current,
        statement: 'Invoices are paid within 60 days.',
        value: { days: 60 },
        scope: { region: 'eu' },
        effective_from: '2026-03-01',
        approved_by: [{ principal: 'owner' }],
      },
      history: [{ id: old, state: 'superseded', superseded_by: current }],
      evidence: [{ excerpt: 'Invoices are paid within 60 days.' }],
      sources: [{ title: 'Board minutes of March' }],
    });
    expect(Date.parse(answer.decision?.approved_at ?? '')).toBeLessThanOrEqual(Date.now());
    expect(answer.evidence[0]?.source_id).toBe(answer.sources[0]?.source_id);
    expect(answer.alternatives.map(({ id }) => id)).not.toContain(old);
    expect(JSON.stringify(answer)).not.toContain('It was decided');
    const before = await ask('payment terms', { scope: { region: 'eu' }, as_of: '2026-02-28' });
    expect(before.decision?.id).toBe(old);
  });

  it('O-19, QO-15: open conflicts of the topic, and who may settle them by the rule of authority, which itself approves nothing', async () => {
    const claims = await decide(
      'Two mails',
      { topic: 'office days', statement: 'Three days a week are spent in the office.', value: 3 },
      { topic: 'office days', statement: 'Two days a week are spent in the office.', value: 2 },
    );
    const contested = await ask('office days');
    expect(contested).toMatchObject({ state: 'contested', alternatives: [{}, {}] });
    expect(contested.decision).toBeUndefined();
    expect(contested.conflicts.map((conflict) => conflict.claims.toSorted())).toEqual([
      claims.toSorted(),
    ]);
    const rule = [{ op: 'set_authority', topic: 'office days', role: 'approver' }];
    const { proposal_id, content_hash } = await call<Record<string, string>>('edit_ontology', {
      action: 'propose',
      change: [{ op: 'add_topic', name: 'office days' }, ...rule],
    });
    await call('edit_ontology', { action: 'approve', proposal_id, content_hash });
    const ruled = await ask('office days');
    expect(ruled.ontology_version).toBe(1);
    expect(ruled.state).toBe('contested');
    expect(ruled.conflicts[0]?.would_be_resolved_by.join(' ')).toContain(
      'an approval by an approver',
    );
  });

  it('O-23: a page of history that shows nothing says whether that is all', async () => {
    const record = (region: string, value: number) => ({
      topic: 'retention',
      statement: `Logs are kept ${value} days in ${region}.`,
      value: '7'.repeat(3_998),
      scope: { region },
    });
    await decide('Logs', record('us', 30), record('eu', 90));
    const page = (more: object) =>
      call<{ timeline: unknown[]; empty_reason?: string; next_cursor?: string }>(
        'get_decision_history',
        { topic: 'retention', ...more },
      );
    const first = await page({ scope: { region: 'eu' }, limit: 2 });
    expect(first).toMatchObject({
      timeline: [],
      empty_reason:
        'Nothing in this part of the timeline is of a decision that covers the scope asked; next_cursor leads on.',
    });
    const second = await page({ scope: { region: 'eu' }, cursor: first.next_cursor });
    expect(second.timeline).toHaveLength(2);
    expect(second.empty_reason).toBeUndefined();
    const last = await page({ scope: { region: 'us' }, cursor: first.next_cursor });
    expect(last.empty_reason).toBe(
      'Nothing in this part of the timeline is of a decision that covers the scope asked.',
    );
    expect((await page({ scope: { region: 'asia' } })).empty_reason).toBe(
      'Nothing is of a decision that covers the scope asked.',
    );
    expect((await page({ cursor: '999999' })).empty_reason).toBe(
      'The timeline ends before this cursor.',
    );
  });

  it('QO-23: what amends a decision or replaces a part of it is told from both sides, and retires nothing', async () => {
    const adr = (n: number, name: string, status: string) => ({
      path: `adr/000${n}-${name.toLowerCase()}.md`,
      text: `# ${n}. ${name}\n\nDate: 2020-01-0${n}\n\n## Status\n\n${status}\n\n## Context\n\nWe need it.\n\n## Decision\n\nWe use ${name}.\n\n## Consequences\n\nNone.\n`,
    });
    await settled({
      collection: 'parts',
      documents: [
        adr(1, 'Oracle', 'Accepted\n\nSuperseded in part by [2. Postgres](0002-postgres.md)'),
        adr(2, 'Postgres', 'Accepted\n\nPartially supersedes [1. Oracle](0001-oracle.md)'),
        adr(3, 'Redis', 'Accepted\n\nAmends [2. Postgres](0002-postgres.md)'),
      ],
    });
    const [oracle, postgres, redis] = [
      await ask('Oracle'),
      await ask('Postgres'),
      await ask('Redis'),
    ];
    const [first, second, third] = [oracle, postgres, redis].map(({ decision }) => decision?.id);
    expect([oracle, postgres, redis].map(({ state }) => state)).toEqual(Array(3).fill('verified'));
    expect(oracle.decision?.relations).toEqual([
      { kind: 'partially_superseded_by', decision_id: second },
    ]);
    expect(oracle.reason).toContain(`It is replaced in part by ${String(second)}.`);
    expect(postgres.decision?.relations).toEqual([
      { kind: 'partially_supersedes', decision_id: first },
      { kind: 'amended_by', decision_id: third },
    ]);
    expect(postgres.reason).toContain(`It is amended by ${String(third)}.`);
    expect(redis.decision?.relations).toEqual([{ kind: 'amends', decision_id: second }]);
    const history = await call<{ heads: Decision[] }>('get_decision_history', { topic: 'Oracle' });
    expect(history.heads[0]?.relations).toEqual(oracle.decision?.relations);
    const before = await ask('Oracle', { known_at: '1' });
    expect(before.decision).toBeUndefined();
  });

  it('O-18: a decision that has run out is history, with the day on which it did', async () => {
    await decide('Offer', {
      topic: 'discount',
      statement: 'The discount is 5 percent.',
      effective_from: '2025-01-01',
      effective_to: '2025-07-01',
    });
    const answer = await ask('discount');
    expect(answer).toMatchObject({
      state: 'insufficient_evidence',
      history: [{ state: 'approved', ended_at: '2025-07-01T00:00:00.000Z' }],
    });
    const then = await ask('discount', { as_of: '2025-06-30' });
    expect(then.decision).toBeDefined();
    expect(then.decision).not.toHaveProperty('ended_at');
  });
});
