import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import { ontologyKit as kit, type Answer } from '../support/ontology.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

describe('merge of topics', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  let ids: { old: string; net: string; candidate: string };
  let before: Answer[];
  let mergedAt: string;
  const history = async (topic: string, query = '') =>
    (
      await server.call<{
        topic: string;
        heads: { id: string }[];
        timeline: { decision_id: string; kind: string }[];
      }>('GET', `/v1/topics/${topic}/history${query}`)
    ).body;
  const joined = async (name: string, topic: string): Promise<void> => {
    while ((await at.ask({ topic: name })).topic?.topic !== topic)
      await new Promise((resolve) => setTimeout(resolve, 10));
  };
  beforeAll(async () => {
    server = await start();
    at = kit(server);
    ids = {
      old: await at.record('Invoicing', 'within thirty days', {
        value: 30,
        effective_from: '2024-01-01',
      }),
      candidate: await at.record('Invoicing', 'within ninety days', {
        value: 90,
        status: 'candidate',
      }),
      net: await at.record('Payment terms', 'within sixty days', {
        value: 60,
        effective_from: '2025-01-01',
      }),
    };
    before = [await at.ask({ topic: 'Invoicing' }), await at.ask({ topic: 'Payment terms' })];
    const merged = await at.change({
      op: 'merge_topics',
      topic: 'Invoicing',
      into: 'Payment terms',
    });
    mergedAt = merged.position;
    await joined('Invoicing', 'payment-terms');
  });

  it('heads of both are seen together, and what disagrees is an open conflict', async () => {
    for (const topic of ['Invoicing', 'Payment terms', 'invoicing']) {
      const answer = await at.ask({ topic });
      expect([topic, answer.state, answer.topic?.topic]).toEqual([
        topic,
        'contested',
        'payment-terms',
      ]);
      expect(answer.alternatives.map((d) => d.id).sort()).toEqual([ids.old, ids.net].sort());
      expect(answer.conflicts.map((c) => [...c.claims].sort())).toEqual([
        [ids.old, ids.net].sort(),
      ]);
    }
    const context = await server.call('GET', '/v1/workspace');
    expect(context.body['counts']).toMatchObject({
      topics: 1,
      heads: 2,
      candidates: 1,
      open_conflicts: 1,
    });
    const conflicts = await server.call('GET', '/v1/conflicts?topic=invoicing');
    expect(conflicts.body['conflicts']).toMatchObject([{ topic: 'payment-terms', status: 'open' }]);
  });

  it('loses no history: the timeline shows both lines, the queue what waits in either', async () => {
    const { topic, heads, timeline } = await history('invoicing');
    expect(topic).toBe('payment-terms');
    expect(heads.map((h) => h.id).sort()).toEqual([ids.old, ids.net].sort());
    expect(timeline.map((e) => e.kind)).toEqual([
      'proposed',
      'approved',
      'proposed',
      'proposed',
      'approved',
      'conflict_opened',
    ]);
    const queue = await server.call<{ items: { id: string; topic: string }[] }>(
      'GET',
      '/v1/pending?topic=payment-terms&kind=candidate',
    );
    expect(queue.body.items).toMatchObject([{ id: ids.candidate, topic: 'payment-terms' }]);
  });

  it('known_at before the merge answers as it did then, under both names', async () => {
    const known_at = String(Number(mergedAt) - 1);
    const then = [
      await at.ask({ topic: 'Invoicing', known_at }),
      await at.ask({ topic: 'Payment terms', known_at }),
    ];
    for (const [i, answer] of then.entries())
      expect(answer).toMatchObject({
        state: before[i]?.state,
        topic: before[i]?.topic,
        decision: { id: before[i]?.decision?.id, topic: before[i]?.decision?.topic },
        conflicts: [],
        ontology_version: 0,
      });
    expect(
      (await history('invoicing', `?known_at=${known_at}`)).timeline.map((e) => e.kind),
    ).toEqual(['proposed', 'approved', 'proposed']);
    expect((await history('payment-terms', `?known_at=${known_at}`)).timeline).toHaveLength(2);
  });

  it('reviews of old decision ids reach the stream that decides now', async () => {
    const review = (id: string, body: object) =>
      server.call('POST', `/v1/decisions/${id}/reviews`, body);
    const approved = await review(ids.candidate, {
      action: 'approve',
      reason: 'agreed',
      supersedes: [ids.old, ids.net],
      effective_from: '2026-01-01',
    });
    expect(approved.body).toMatchObject({
      decision_id: ids.candidate,
      state: 'approved',
      topic: 'payment-terms',
    });
    const answer = await at.ask({ topic: 'Payment terms' });
    expect(answer).toMatchObject({
      state: 'verified',
      decision: { id: ids.candidate, value: 90 },
      conflicts: [],
    });
    const revoked = await review(ids.candidate, { action: 'revoke', reason: 'gone' });
    expect(revoked.status).toBe(200);
    expect((await at.ask({ topic: 'Invoicing' })).state).toBe('insufficient_evidence');
  });

  it('what is ingested again or anew for the merged topic stands in the one it was merged into', async () => {
    const again = await at.record('Invoicing', 'within thirty days', {
      value: 30,
      effective_from: '2024-01-01',
    });
    expect(again).toBe(ids.old);
    const fresh = await at.record('Invoicing', 'within ten days', {
      value: 10,
      effective_from: '2026-06-01',
    });
    expect((await at.ask({ topic: 'Payment terms' })).decision?.id).toBe(fresh);
    expect((await at.overview()).active.merged).toEqual([
      { topic: 'invoicing', into: 'payment-terms' },
    ]);
  });

  it('a merge stands through a rollback, and topics merged twice keep one line', async () => {
    await at.change({ op: 'add_topic', name: 'Finance' });
    await at.change({ op: 'merge_topics', topic: 'Payment terms', into: 'Finance' });
    await joined('Invoicing', 'finance');
    await at.record('finance', 'within five days', { value: 5, scope: { team: 'x' } });
    const { topic, timeline } = await history('invoicing');
    expect(topic).toBe('finance');
    expect(timeline.filter((e) => e.kind === 'proposed')).toHaveLength(5);
    const again = await at.record('Invoicing', 'within thirty days', {
      value: 30,
      effective_from: '2024-01-01',
    });
    expect(again).toBe(ids.old);
    const back = await at.edit({ action: 'rollback', to_version: 1 });
    await at.approve(back.body);
    expect((await at.ask({ topic: 'Invoicing' })).topic?.topic).toBe('finance');
    expect((await at.overview()).active.merged).toHaveLength(2);
  });
});

describe('imported topics that a later link joins (ADR 8)', () => {
  const adr = (n: number, status: string): { path: string; text: string } => ({
    path: `000${n}-choice.md`,
    text: `# ${n}. Choice ${n}\n\nDate: 202${n}-01-01\n\n## Status\n\n${status}\n\n## Decision\n\nWe take option ${n}.\n`,
  });
  const folder = (...documents: object[]) => ({ collection: 'adr', documents });

  it('are merged, and the folder handed in again finds what is there and states the link', async () => {
    const server = await start();
    const at = kit(server);
    const first = await server.ingest(folder(adr(1, 'Accepted'), adr(2, 'Accepted')));
    expect(first['counts']).toMatchObject({ stored: 2 });
    expect((await at.ask({ topic: 'Choice 1' })).decision?.id).toMatch(/0001-choice\./);
    await at.change({ op: 'merge_topics', topic: 'Choice 1', into: 'Choice 2' });
    let answer = await at.ask({ topic: 'Choice 1' });
    for (; answer.state !== 'contested'; answer = await at.ask({ topic: 'Choice 1' }))
      await new Promise((resolve) => setTimeout(resolve, 10));

    const again = await server.ingest(folder(adr(1, 'Accepted'), adr(2, 'Accepted')));
    expect(again['counts']).toMatchObject({ stored: 0, queued: 0, skipped: 2 });
    const linked = await server.ingest(
      folder(
        adr(1, 'Superseded by [2](0002-choice.md)'),
        adr(2, 'Accepted\n\nSupersedes [1](0001-choice.md)'),
      ),
    );
    expect(linked['counts']).toMatchObject({ queued: 0 });
    const now = await at.ask({ topic: 'Choice 1' });
    expect([now.state, now.topic?.topic]).toEqual(['contested', 'adr-0002-choice']);
    const [conflict] = now.conflicts;
    const [old = '', newer = ''] = [...(conflict?.claims ?? [])].sort();
    const settled = await server.call('POST', `/v1/conflicts/${conflict?.id ?? ''}/resolutions`, {
      action: 'resolve',
      winner_decision_id: newer,
      reason: 'the later record says that it supersedes the other',
    });
    expect([settled.status, settled.body['superseded']]).toEqual([200, [old]]);
    const after = await at.ask({ topic: 'Choice 1' });
    expect([after.state, after.decision?.id]).toEqual(['verified', newer]);
  });
});
