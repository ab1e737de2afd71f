import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import { ontologyKit as kit, type Answer, type Refused } from '../support/ontology.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

describe('names of declared topics and of records', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  beforeAll(async () => {
    server = await start();
    at = kit(server);
    await at.record('adr-5', 'Use Kafka', { value: 'kafka' });
  });

  it('QO-4: a declared name leads to the records of the topic, a former one stays an alias', async () => {
    await at.change({ op: 'rename_topic', topic: 'adr-5', name: 'Message broker' });
    await at.change({ op: 'rename_topic', topic: 'adr-5', name: 'Event bus' });
    for (const topic of ['adr-5', 'Message broker', 'EVENT bus'])
      expect(await at.ask({ topic })).toMatchObject({
        state: 'verified',
        topic: { topic: 'adr-5', name: 'Event bus' },
        decision: { value: 'kafka' },
      });
    const history = await server.call('GET', '/v1/topics/event%20bus/history');
    expect(history.body).toMatchObject({
      topic: 'adr-5',
      aliases: ['Event bus', 'Message broker'],
    });
  });

  it('a declared topic without records is known, and says that nothing was decided', async () => {
    await at.change({ op: 'add_topic', name: 'Retention' });
    const answer = await at.ask({ topic: 'retention' });
    expect([answer.state, answer.topic?.topic]).toEqual(['unknown', 'retention']);
    await at.record('Retention', 'keep 30 days', { value: 30 });
    expect((await at.ask({ topic: 'RETENTION' })).decision?.value).toBe(30);
  });

  it('a record under a declared name goes to the declared topic: no second one comes into being', async () => {
    await at.change({ op: 'add_alias', topic: 'Retention', alias: 'Backups' });
    await at.record('backups', 'daily', { value: 'daily', scope: { team: 'a' } });
    expect((await at.ask({ topic: 'Backups' })).topic?.topic).toBe('retention');
  });

  it('QO-4: a name that two topics bear by now is resolved by nobody but who gives an id', async () => {
    const proposed = await at.edit({
      action: 'propose',
      change: [{ op: 'add_alias', topic: 'Retention', alias: 'Snap Shots' }],
    });
    await at.record('snap shots', 'weekly', { value: 'weekly' });
    await at.approve(proposed.body);
    const both = await at.ask({ topic: 'Snap Shots' });
    expect([both.state, both.decision]).toEqual(['unknown', undefined]);
    expect(both.candidate_topics.map((t) => t.topic)).toEqual(['retention', 'snap-shots']);
    expect((await at.ask({ topic: 'snap-shots' })).decision?.value).toBe('weekly');
  });

  it('B33: a record’s name is not taken for another topic', async () => {
    const refused = await at.edit<Refused>({
      action: 'propose',
      change: [{ op: 'add_topic', name: 'Broker', aliases: ['Adr 5'] }],
    });
    expect([refused.body.error, refused.body.path]).toEqual([
      'duplicate_name',
      'change[0].aliases[0]',
    ]);
  });
});

describe('values below values', () => {
  it('QO-3: a decision for a value holds for the values below it, and a narrower one is an exception', async () => {
    const at = kit(await start());
    await at.change(
      {
        op: 'add_dimension',
        dimension: 'region',
        values: [{ value: 'eu' }, { value: 'de', parent: 'eu' }, { value: 'us' }],
      },
      { op: 'add_topic', name: 'Terms' },
    );
    await at.record('Terms', 'thirty', { value: 30, scope: { region: 'eu' } });
    const value = async (region: string) =>
      (await at.ask({ topic: 'Terms', scope: { region } })).decision?.value;
    expect([await value('eu'), await value('de'), await value('DE'), await value('us')]).toEqual([
      30,
      30,
      30,
      undefined,
    ]);
    const exception = await at.record('Terms', 'forty-five', {
      value: 45,
      scope: { region: 'de' },
    });
    const answer = await at.ask({ topic: 'Terms', scope: { region: 'de' } });
    expect(answer).toMatchObject({
      state: 'verified',
      decision: { id: exception, value: 45 },
      ontology_version: 1,
    });
    expect(await value('eu')).toBe(30);
  });

  it('a closed dimension takes declared values only: others are refused with their path, and nothing is stored', async () => {
    const server = await start();
    const at = kit(server);
    await at.change({
      op: 'add_dimension',
      dimension: 'region',
      open: false,
      values: [{ value: 'eu' }],
    });
    const end = await server.end();
    const refused = await server.call<Refused>('POST', '/v1/ingestions', {
      source: { title: 't', type: 'note', text: 'We decided: thirty.' },
      records: [
        { topic: 'Terms', statement: 'thirty', scope: { region: 'mars' }, status: 'candidate' },
      ],
    });
    expect([refused.status, refused.body.error, refused.body.path]).toEqual([
      400,
      'undeclared_scope_value',
      'records[0].scope.region',
    ]);
    expect(await server.end()).toBe(end);
    await at.record('Terms', 'thirty', { value: 30, scope: { region: 'EU', team: 'any' } });
  });

  it('QO-24: by_effective_date is what the topic declares', async () => {
    const at = kit(await start());
    await at.change({ op: 'add_topic', name: 'Rates', succession: 'by_effective_date' });
    await at.record('Rates', 'later', { value: 2, effective_from: '2026-01-01' });
    await at.record('Rates', 'earlier', { value: 1, effective_from: '2025-01-01' });
    expect((await at.ask({ topic: 'Rates' })).decision?.value).toBe(2);
    expect((await at.ask({ topic: 'Rates', as_of: '2025-06-01' })).decision?.value).toBe(1);
  });
});

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
