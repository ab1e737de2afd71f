import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';

interface Answer {
  state: string;
  reason: string;
  position: string;
  call_id?: string;
  ontology_version: number;
  decision?: { id: string; value?: unknown; approved_by: { principal: string; name?: string }[] };
  alternatives: { id: string; value?: unknown }[];
  history: { id: string; state: string; end_reason?: string; superseded_by?: string }[];
  history_truncated: boolean;
  conflicts: { id: string; claims: string[]; would_be_resolved_by: string[] }[];
  evidence: { source_id: string }[];
  sources: { source_id: string }[];
}
interface Conflict {
  conflict_id: string;
  topic: string;
  kind: string;
  status: string;
  claims: { decision_id: string; state: string; scope: object; sources: { title: string }[] }[];
  would_be_resolved_by: string[];
  winner?: string;
  reason?: string;
  closed_by?: string;
}
interface Conflicts {
  conflicts: Conflict[];
  filter_recognised: boolean;
  note?: string;
  candidate_topics: { topic: string }[];
  next_cursor?: string;
}

let server: TestApplication;
let owner: string;
let member: string;
let admin: string;
let agent: string;
beforeAll(async () => {
  server = await TestApplication.start();
  owner = server.key;
  member = await server.member('mia', 'member');
  admin = await server.member('ada', 'admin');
  agent = await server.member('bot', 'member', 'agent');
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const ask = async (input: object, key = owner): Promise<Answer> =>
  (await server.call<Answer>('POST', '/v1/answers', { question: 'q', ...input }, key)).body;
const find = async (query: string, key = owner): Promise<Conflicts> =>
  (await server.call<Conflicts>('GET', `/v1/conflicts${query}`, undefined, key)).body;
const settle = (id: string, body: object, key = owner) =>
  server.call<{ error?: string; superseded: string[]; position: string }>(
    'POST',
    `/v1/conflicts/${encodeURIComponent(id)}/resolutions`,
    { reason: 'talked it over', ...body },
    key,
  );
const review = (id: string, body: object, key = owner) =>
  server.call<{ error?: string; state?: string; position: string }>(
    'POST',
    `/v1/decisions/${encodeURIComponent(id)}/reviews`,
    { reason: 'agreed', ...body },
    key,
  );
const set = async (url: string, body: object): Promise<void> => {
  const reply = await server.call('POST', url, body);
  expect(reply.status).toBe(200);
};

/** One record with itself as its own evidence; the id of its decision. */
async function record(
  topic: string,
  value: string,
  more: Record<string, unknown> = {},
  key = owner,
): Promise<string> {
  const job = await server.ingest(
    {
      source: {
        title: `${topic} ${value}`,
        type: 'note',
        text: `Somebody wrote: ${value}. No more.`,
      },
      records: [
        {
          topic,
          statement: value,
          value,
          status: 'approved',
          evidence: [{ quote: value }],
          ...more,
        },
      ],
    },
    key,
  );
  const [outcome] = job['records'] as { decision_id: string }[];
  return outcome?.decision_id ?? '';
}

describe('find_conflicts (O-24, O-25)', () => {
  let a: string;
  let b: string;
  let before: string;
  beforeAll(async () => {
    a = await record('limits', '500 EUR', { effective_from: '2026-01-01' });
    before = (await ask({ topic: 'limits' })).position;
    b = await record('limits', '1000 EUR');
  });

  it('B13: lists both claims with sources and scopes, and what would settle it', async () => {
    const { conflicts } = await find('?topic=limits', member);
    expect(conflicts).toHaveLength(1);
    expect(conflicts[0]).toMatchObject({
      topic: 'limits',
      kind: 'same_scope',
      status: 'open',
      claims: [
        { decision_id: a, state: 'approved', scope: {}, sources: [{ title: 'limits 500 EUR' }] },
        { decision_id: b, state: 'approved', scope: {}, sources: [{ title: 'limits 1000 EUR' }] },
      ],
      would_be_resolved_by: [
        `a dated source that says from when ${b} applies`,
        `an approval by an admin or owner that names which of ${a}, ${b} supersedes the others`,
      ],
    });
    const contested = await ask({ topic: 'limits' });
    expect(contested.state).toBe('contested');
    expect(contested.decision).toBeUndefined();
    expect(contested.conflicts[0]).toMatchObject({
      id: conflicts[0]?.conflict_id,
      would_be_resolved_by: conflicts[0]?.would_be_resolved_by,
    });
  });

  it('O-25: an unrecognised filter says so, an empty list says what it looked for', async () => {
    const unknown = await find('?topic=never-heard-of');
    expect(unknown).toMatchObject({ conflicts: [], filter_recognised: false });
    expect(unknown.note).toMatch(/No topic bears this name/);
    await record('calm', 'all agree');
    const none = await find('?topic=calm');
    expect(none).toMatchObject({ conflicts: [], filter_recognised: true });
    expect(none.note).toBe('No open conflict is recorded in this topic.');
  });

  it('both time axes hold', async () => {
    expect((await find(`?topic=limits&known_at=${before}`)).conflicts).toEqual([]);
    expect((await find('?topic=limits&as_of=2026-02-01')).conflicts).toEqual([]);
    expect((await find('?topic=limits&as_of=2099-01-01')).conflicts).toHaveLength(1);
  });

  it('O-30: is in the review queue until it is closed, and pages are complete', async () => {
    for (const topic of ['page-1', 'page-2', 'page-3']) {
      await record(topic, 'this', { effective_from: '2026-01-01' });
      await record(topic, 'that', { effective_from: '2026-01-01' });
    }
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await find(`?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      seen.push(...page.conflicts.map((c) => c.topic));
      if (page.next_cursor === undefined) break;
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(['limits', 'page-1', 'page-2', 'page-3']);
    const queue = await server.call<{ items: { topic: string }[] }>(
      'GET',
      '/v1/pending?kind=conflict',
    );
    expect(queue.body.items.map((i) => i.topic)).toEqual(seen);
  });

  it('O-33, QO-11: who may not, does not; the winner must be an approved claim; then it is settled', async () => {
    const id = (await find('?topic=limits')).conflicts[0]?.conflict_id ?? '';
    const end = await server.end();
    const resolve = (winner_decision_id: string) => ({ action: 'resolve', winner_decision_id });
    for (const key of [member, agent])
      expect(await settle(id, resolve(b), key)).toMatchObject({
        status: 403,
        body: { error: 'requires_governor' },
      });
    const candidate = await record('limits', '700 EUR', { status: 'candidate' });
    const after = await server.end();
    expect(await settle(id, resolve(candidate))).toMatchObject({
      status: 400,
      body: { error: 'not_a_claim' },
    });
    expect(await settle(id, { action: 'resolve' })).toMatchObject({
      status: 400,
      body: { error: 'winner_missing', path: 'winner_decision_id' },
    });
    expect(await settle(`${a}.c99`, resolve(b))).toMatchObject({ status: 404 });
    expect(await server.end()).toBe(after);
    expect(after).toBeGreaterThan(end);

    const done = await settle(id, resolve(b), admin);
    expect(done).toMatchObject({ status: 200, body: { status: 'resolved', superseded: [a] } });
    expect(await ask({ topic: 'limits' })).toMatchObject({
      state: 'verified',
      decision: { id: b },
      conflicts: [],
      history: [{ id: a, state: 'superseded', superseded_by: b, end_reason: 'talked it over' }],
    });
    expect((await find('?topic=limits')).conflicts).toEqual([]);
    expect((await find('?topic=limits&status=resolved')).conflicts).toMatchObject([
      { status: 'resolved', winner: b, reason: 'talked it over', closed_by: 'ada' },
    ]);
    expect((await find(`?topic=limits&known_at=${String(after)}`)).conflicts).toHaveLength(1);
    expect(await settle(id, resolve(b))).toMatchObject({
      status: 409,
      body: { error: 'already_decided' },
    });
  });

  it('O-33: dismissed, both hold side by side and are contested no more', async () => {
    const id = (await find('?topic=page-1')).conflicts[0]?.conflict_id ?? '';
    expect((await ask({ topic: 'page-1' })).state).toBe('contested');
    expect(await settle(id, { action: 'dismiss' })).toMatchObject({
      status: 200,
      body: { status: 'dismissed', superseded: [] },
    });
    const both = await ask({ topic: 'page-1' });
    expect(both.state).toBe('verified');
    expect([both.decision?.value, ...both.alternatives.map((x) => x.value)]).toEqual([
      'this',
      'that',
    ]);
    expect(both.reason).toMatch(/hold side by side, which a governor found not incompatible/);
    expect(both.sources).toHaveLength(2);
    const history = await server.call<{ timeline: { kind: string }[] }>(
      'GET',
      '/v1/topics/page-1/history',
    );
    expect(history.body.timeline.at(-1)?.kind).toBe('conflict_dismissed');
  });
});

describe('the answer', () => {
  it('QO-3: what holds for a value of a scope holds below it; an exception below wins', async () => {
    const draft = {
      topics: [{ name: 'returns' }],
      dimensions: [
        {
          name: 'region',
          values: [{ value: 'eu' }, { value: 'de', parent: 'eu' }, { value: 'us' }],
        },
      ],
    };
    const started = await server.call<{ proposal_id: string; content_hash: string }>(
      'POST',
      '/v1/ontology/drafts',
      { description: 'Regions', draft },
    );
    expect(started.status).toBe(201);
    const { proposal_id, content_hash } = started.body;
    const edited = await server.call('POST', '/v1/ontology/changes', {
      action: 'approve',
      proposal_id,
      content_hash,
      reason: 'agreed',
    });
    expect(edited.status).toBe(200);
    const eu = await record('returns', '14 days', { scope: { region: 'eu' } });
    expect(await ask({ topic: 'returns', scope: { region: 'de' } })).toMatchObject({
      state: 'verified',
      decision: { id: eu },
      ontology_version: 1,
    });
    const de = await record('returns', '30 days', { scope: { region: 'de' } });
    expect((await ask({ topic: 'returns', scope: { region: 'de' } })).decision?.id).toBe(de);
    expect((await ask({ topic: 'returns', scope: { region: 'eu' } })).decision?.id).toBe(eu);
    expect(await ask({ topic: 'returns', scope: { region: 'us' } })).toMatchObject({
      state: 'insufficient_evidence',
      alternatives: [{ id: eu }, { id: de }],
    });
    expect((await find('?topic=returns')).conflicts).toEqual([]);
  });

  it('QO-3: the same value in crossing scopes is one answer, different values are contested', async () => {
    await record('colour', 'blue', { scope: { team: 'x' } });
    await record('colour', 'blue', { scope: { floor: '2' } });
    const both = await ask({ topic: 'colour', scope: { team: 'x', floor: '2' } });
    expect(both).toMatchObject({ state: 'verified', decision: { value: 'blue' } });
    expect(both.alternatives).toHaveLength(1);
    await record('colour', 'red', { scope: { wing: 'b' } });
    expect((await ask({ topic: 'colour', scope: { team: 'x', wing: 'b' } })).state).toBe(
      'contested',
    );
    expect((await find('?topic=colour')).conflicts[0]?.kind).toBe('overlapping_scopes');
  });

  it('B06, QO-24: a topic whose later effective date decides', async () => {
    const change = [{ op: 'add_topic', name: 'payment terms', succession: 'by_effective_date' }];
    const proposed = await server.call<{ proposal_id: string; content_hash: string }>(
      'POST',
      '/v1/ontology/changes',
      { action: 'propose', change, reason: 'dates decide' },
    );
    expect(proposed.status).toBe(200);
    const { proposal_id, content_hash } = proposed.body;
    const approved = { action: 'approve', proposal_id, content_hash, reason: 'agreed' };
    expect((await server.call('POST', '/v1/ontology/changes', approved)).status).toBe(200);
    await record('payment terms', 'net 60', {
      effective_from: '2026-03-01',
      decided_at: '2026-02-20',
    });
    const before = (await ask({ topic: 'payment terms' })).position;
    await record('payment terms', 'net 30', {
      effective_from: '2024-01-01',
      decided_at: '2023-12-15',
    });
    const at = async (as_of: string, more = {}) => ask({ topic: 'payment terms', as_of, ...more });
    expect((await at('2026-06-01')).decision?.value).toBe('net 60');
    expect((await at('2025-06-01')).decision?.value).toBe('net 30');
    expect((await at('2026-02-28T23:59:59.999Z')).decision?.value).toBe('net 30');
    expect((await at('2023-06-01')).state).toBe('unknown');
    expect((await at('2025-06-01', { known_at: before })).state).toBe('unknown');
    expect((await at('2026-06-01')).history).toMatchObject([
      { value: 'net 30', ended_at: '2026-03-01T00:00:00.000Z' },
    ]);
  });

  it('a known_at between the events of one append shows nothing of it', async () => {
    const first = await record('halves', 'one', { effective_from: '2020-01-01' });
    const whole = Number((await ask({ topic: 'halves' })).position);
    const next = await record('halves', 'two', { status: 'candidate', supersedes: [first] });
    const proposed = Number((await ask({ topic: 'halves' })).position);
    const { body } = await review(next, { action: 'approve' });
    const last = Number(body.position);
    expect(last - proposed).toBeGreaterThan(1);
    for (let at = whole; at < last; at += 1)
      expect(await ask({ topic: 'halves', known_at: String(at) })).toMatchObject({
        state: 'verified',
        decision: { id: first },
        alternatives: [],
      });
    expect((await ask({ topic: 'halves', known_at: String(last) })).decision?.id).toBe(next);
  });

  it('O-18: brings the last twenty ended decisions and says that there are more', async () => {
    let head = await record('long', 'version 0', { effective_from: '2020-01-01' });
    for (let i = 1; i <= 22; i += 1)
      head = await record('long', `version ${i}`, {
        supersedes: [head],
        effective_from: new Date(Date.UTC(2020, i, 1)).toISOString().slice(0, 10),
      });
    const answer = await ask({ topic: 'long' });
    expect(answer.history).toHaveLength(20);
    expect(answer.history[0]).toMatchObject({ value: 'version 21' });
    expect(answer.history_truncated).toBe(true);
    expect((await ask({ topic: 'long', as_of: '2020-06-15' })).history_truncated).toBe(false);
  }, 60_000);
});

describe('capture and rating (O-37, O-38, QO-5, QO-6)', () => {
  const rate = (call: string, body: object, key = member) =>
    server.call<{ error?: string; recorded_at: string; position: string }>(
      'POST',
      `/v1/answers/${call}/ratings`,
      { rating: 'correct', ...body },
      key,
    );

  it('while capture is off there is no call_id, nothing is kept and nothing can be rated', async () => {
    await record('rated', 'yes');
    const end = await server.end();
    expect(await ask({ topic: 'rated' })).not.toHaveProperty('call_id');
    expect(await server.end()).toBe(end);
    expect(await rate(`call_${'0'.repeat(32)}`, {})).toMatchObject({
      status: 409,
      body: { error: 'capture_disabled', fix: expect.stringContaining('enable') },
    });
  });

  it('with capture each answer can be rated; the latest rating of a principal counts', async () => {
    await set('/v1/workspace/settings', { answer_capture: true });
    const first = await ask({ topic: 'rated' });
    const second = await ask({ topic: 'rated' });
    expect(first.call_id).toMatch(/^call_[0-9a-f]{32}$/);
    expect(second.call_id).not.toBe(first.call_id);
    const call = first.call_id ?? '';
    const once = await rate(call, { comment: 'as I remember it' });
    expect(once.status).toBe(200);
    const end = await server.end();
    expect((await rate(call, { comment: 'as I remember it' })).body).toEqual(once.body);
    expect(await server.end()).toBe(end);
    expect((await rate(call, { rating: 'incorrect' })).status).toBe(200);
    expect((await rate(call, { rating: 'partly' }, owner)).status).toBe(200);
    expect(await server.end()).toBe(end + 2);
    expect(await rate(`call_${'0'.repeat(32)}`, {})).toMatchObject({
      status: 404,
      body: { error: 'unknown_call' },
    });
    expect((await rate('nonsense', {})).body.error).toBe('unknown_call');
    expect((await rate(call, { rating: 'superb' })).status).toBe(400);
  });

  it('O-13: an answer with a request_id keeps its call_id, and the one it had none', async () => {
    const keyed = { topic: 'rated', request_id: 'captured-1' };
    const once = await ask(keyed);
    expect(once.call_id).toBeDefined();
    expect(JSON.stringify(await ask(keyed))).toBe(JSON.stringify(once));
    await set('/v1/workspace/settings', { answer_capture: false });
    expect(JSON.stringify(await ask(keyed))).toBe(JSON.stringify(once));
    const plain = { topic: 'rated', request_id: 'plain-1' };
    const uncaptured = await ask(plain);
    await set('/v1/workspace/settings', { answer_capture: true });
    expect(JSON.stringify(await ask(plain))).toBe(JSON.stringify(uncaptured));
    await set('/v1/workspace/settings', { answer_capture: false });
  });
});

describe('settings of the organisation', () => {
  it('O-17, QO-21: the approver’s name is shown where the organisation wants it', async () => {
    await record('names', 'yes', {}, admin);
    expect((await ask({ topic: 'names' })).decision?.approved_by).toMatchObject([
      { principal: 'ada' },
    ]);
    expect((await ask({ topic: 'names' })).decision?.approved_by[0]).not.toHaveProperty('name');
    await set('/v1/organisation/settings', { approver_names: true });
    expect((await ask({ topic: 'names' })).decision?.approved_by).toMatchObject([
      { principal: 'ada', name: 'ada' },
    ]);
    await set('/v1/organisation/settings', { approver_names: false });
  });

  it('QO-12: with four eyes nobody approves or lets prevail what he proposed, by no way', async () => {
    await set('/v1/organisation/settings', { four_eyes: true });
    const mine = await record('eyes', 'mine', {}, admin);
    const queue = await server.call<{ items: { id: string; reasons: string[] }[] }>(
      'GET',
      '/v1/pending?topic=eyes',
    );
    expect(queue.body.items).toMatchObject([{ id: mine, reasons: ['four_eyes_required'] }]);
    expect(await review(mine, { action: 'approve' }, admin)).toMatchObject({
      status: 403,
      body: { error: 'four_eyes_required' },
    });
    expect((await review(mine, { action: 'approve' }, owner)).status).toBe(200);
    const other = await record('eyes', 'other', {}, owner);
    expect((await review(other, { action: 'approve' }, admin)).body.state).toBe('approved');
    const id = (await find('?topic=eyes')).conflicts[0]?.conflict_id ?? '';
    const win = (winner_decision_id: string) => ({ action: 'resolve', winner_decision_id });
    expect(await settle(id, win(mine), admin)).toMatchObject({
      status: 403,
      body: { error: 'four_eyes_required' },
    });
    expect((await settle(id, win(mine), owner)).status).toBe(200);
    await set('/v1/organisation/settings', { four_eyes: false });
  });
});

it('B43: a document that its author changed while it waited cannot be approved from the stale tab', async () => {
  const text = (decision: string, date: string) =>
    `# 1. Pay later\n\nDate: ${date}\n\n## Status\n\nProposed\n\n## Decision\n\n${decision}\n`;
  const hand = async (decision: string, date: string): Promise<string> => {
    const documents = [{ path: '0001-pay-later.md', text: text(decision, date) }];
    const job = await server.ingest({ collection: 'b43', documents }, member);
    return (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
  };
  const rev1 = await hand('We will pay after 30 days.', '2024-01-01');
  const pending = async () =>
    (
      await server.call<{ items: { id: string; content_hash: string }[] }>(
        'GET',
        '/v1/pending?limit=200',
      )
    ).body.items;
  const content_hash = (await pending()).find((i) => i.id === rev1)?.content_hash;
  const rev2 = await hand('We will pay after 60 days.', '2024-02-01');
  const ids = (await pending()).map((i) => i.id);
  expect([ids.includes(rev1), ids.includes(rev2)]).toEqual([false, true]);
  const end = await server.end();
  for (const id of [rev1, rev2]) {
    const stale = await review(id, { action: 'approve', content_hash });
    expect(stale).toMatchObject({
      status: 409,
      body: {
        error: 'stale_revision',
        issues: expect.arrayContaining([
          { path: 'effective_from', problem: 'was "2024-01-01", is "2024-02-01"' },
        ]),
      },
    });
    expect(JSON.stringify(stale.body)).not.toContain('60 days');
  }
  expect(await server.end()).toBe(end);
  expect((await review(rev2, { action: 'approve' })).body.state).toBe('approved');
});
