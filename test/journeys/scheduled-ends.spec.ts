import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';

interface Answer {
  state: string;
  reason: string;
  decision?: { id: string; value: number };
  history: { id: string; state: string; ended_at: string; superseded_by?: string }[];
  conflicts: { claims: string[] }[];
  position: string;
}
interface Reviewed {
  state: string;
  conflicts_opened: string[];
  message?: string;
}

let now = Date.parse('2026-12-01T12:00:00Z');
let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start({}, () => now);
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

async function record(topic: string, value: number, more: object = {}) {
  const statement = `${topic} is ${value}`;
  const job = (await server.ingest({
    source: { title: statement, type: 'note', text: statement },
    records: [
      { topic, statement, value, status: 'approved', evidence: [{ quote: statement }], ...more },
    ],
  })) as unknown as { records: { decision_id: string; outcome: string; reason?: string }[] };
  return job.records[0]!;
}

async function ask(topic: string, more: object = {}): Promise<Answer> {
  const asked = { question: 'What holds?', topic, ...more };
  return (await server.call<Answer>('POST', '/v1/answers', asked)).body;
}

const revoke = (id: string, effective_from?: string) =>
  server.call<Reviewed>('POST', `/v1/decisions/${id}/reviews`, {
    action: 'revoke',
    reason: 'no longer',
    ...(effective_from === undefined ? {} : { effective_from }),
  });

const heads = async (): Promise<number> =>
  (await server.call<{ counts: { heads: number } }>('GET', '/v1/workspace')).body.counts.heads;

describe('a decision that has an end to come', () => {
  it('QO-27: revoked from next year on, it is revoked now; later than that is refused; before, all is as it was', async () => {
    const before = await heads();
    const { decision_id: id } = await record('fax', 1, { effective_from: '2026-01-01' });
    expect((await revoke(id, '2027-01-01')).body.state).toBe('revoked');
    expect(await heads()).toBe(before);
    const later = await revoke(id, '2028-01-01');
    expect([later.status, later.body.message]).toEqual([
      409,
      expect.stringContaining('it holds until 2027-01-01T00:00:00.000Z'),
    ]);
    const held = await ask('fax');
    expect(held).toMatchObject({ state: 'verified', decision: { id } });
    now += 1;
    expect((await revoke(id)).body.state).toBe('revoked');
    expect(await heads()).toBe(before);
    const answer = await ask('fax');
    expect(answer).toMatchObject({
      state: 'insufficient_evidence',
      history: [{ id, state: 'revoked', ended_at: new Date(now).toISOString() }],
    });
    expect(answer.reason).toContain('was revoked');
    expect((await ask('fax', { known_at: held.position })).decision?.id).toBe(id);
    expect((await ask('fax', { as_of: '2026-06-01' })).decision?.id).toBe(id);
    const { body } = await server.call<{ timeline: { kind: string }[] }>(
      'GET',
      '/v1/topics/fax/history',
    );
    expect(body.timeline.map((t) => t.kind)).toEqual([
      'proposed',
      'approved',
      'revoked',
      'revoked',
    ]);
  });

  it('QO-27: superseded from a later year on, it is revoked now, whether or not its successor was', async () => {
    const { decision_id: first } = await record('rate', 1, { effective_from: '2020-01-01' });
    const { decision_id: second } = await record('rate', 2, {
      effective_from: '2028-01-01',
      supersedes: [first],
    });
    const before = await heads();
    expect((await revoke(second)).body.state).toBe('revoked');
    expect(await ask('rate')).toMatchObject({ state: 'verified', decision: { id: first } });
    expect((await revoke(first)).body.state).toBe('revoked');
    expect(await heads()).toBe(before - 1);
    for (const more of [{}, { as_of: '2029-01-01' }])
      expect((await ask('rate', more)).state).toBe('insufficient_evidence');
    expect((await ask('rate')).history).toMatchObject([{ id: first, state: 'revoked' }]);
  });

  it('QO-10, O-29: an approved record supersedes it from now on, without a conflict', async () => {
    const { decision_id: old } = await record('zone', 1, { effective_from: '2020-01-01' });
    await revoke(old, '2028-01-01');
    const next = await record('zone', 2, { effective_from: '2026-11-01', supersedes: [old] });
    expect(next).toMatchObject({ outcome: 'stored' });
    expect(await ask('zone')).toMatchObject({
      state: 'verified',
      decision: { id: next.decision_id, value: 2 },
      history: [{ id: old, superseded_by: next.decision_id, ended_at: '2026-11-01T00:00:00.000Z' }],
      conflicts: [],
    });
    expect((await ask('zone', { as_of: '2026-10-31' })).decision?.id).toBe(old);
  });

  it('QO-24: of two successors that both go on none is ranked: from the later start on it is contested', async () => {
    const { decision_id: old } = await record('desk', 1, { effective_from: '2020-01-01' });
    const supersedes = [old];
    const later = await record('desk', 2, { effective_from: '2028-01-01', supersedes });
    const sooner = await record('desk', 3, { effective_from: '2026-11-01', supersedes });
    expect(sooner).toMatchObject({
      outcome: 'stored',
      reason: expect.stringContaining('conflict_opened'),
    });
    const answer = await ask('desk');
    expect(answer).toMatchObject({ state: 'verified', decision: { id: sooner.decision_id } });
    const contested = await ask('desk', { as_of: '2028-01-01' });
    expect(contested.state).toBe('contested');
    expect(contested.conflicts[0]?.claims).toEqual([later.decision_id, sooner.decision_id]);
  });
});
