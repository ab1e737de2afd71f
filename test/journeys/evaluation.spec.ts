import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import {
  CASES,
  evaluationKit as kit,
  MINUTES,
  outcomes,
  SECRET,
  type Prepared,
  type Ran,
  type Read,
} from '../support/evaluation.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

async function streamsSince(server: TestApplication, position: number): Promise<string[]> {
  const signal = new AbortController().signal;
  const found: string[] = [];
  for await (const events of server.application.ledger.store.follow(position, {
    signal,
    live: false,
  }))
    found.push(...events.map(({ stream }) => stream.split('-')[0] ?? ''));
  return found;
}

describe('prepare, inspect, approve, run, read, export, through MCP', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  let set: Prepared;
  let first: Ran;
  beforeAll(async () => {
    server = await start();
    at = kit(server);
    await server.ingest(MINUTES);
    // With capture on every answer of the resolver would be recorded.
    await server.call('POST', '/v1/workspace/settings', { answer_capture: true });
  });

  it('O-41, O-42: preparing stores a draft, approves nothing and asks the resolver nothing', async () => {
    const before = await server.end();
    const sent = { name: 'Office', description: 'from the minutes', cases: CASES };
    set = await at.tool<Prepared>('prepare_eval_dataset', sent);
    expect(set).toMatchObject({ refused: false, status: 'draft' });
    expect(set.dataset_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await streamsSince(server, before)).toEqual(['dataset']);
    const again = await at.tool<Prepared>('prepare_eval_dataset', sent);
    expect([again.dataset_id, await server.end()]).toEqual([set.dataset_id, before + 1]);
    const run = await at.tool<Ran>('run_eval', { dataset_id: set.dataset_id });
    expect([run.refused, run.error]).toEqual([true, 'dataset_not_approved']);
  });

  it('O-51, O-30: a draft is inspected, and waits among what awaits a review', async () => {
    const read = await at.tool<Read>('get_intelligence', { dataset_id: set.dataset_id });
    expect(read.cases).toEqual(CASES);
    expect(read.dataset).toMatchObject({
      status: 'draft',
      case_count: 5,
      prepared_by: 'owner',
      run_count: 0,
      dataset_hash: set.dataset_hash,
    });
    const queue = await server.call('GET', '/v1/pending?kind=dataset');
    expect(queue.body['items']).toMatchObject([
      { kind: 'dataset', id: set.dataset_id, content_hash: set.dataset_hash, statement: 'Office' },
    ]);
  });

  it('O-44, O-46, QO-17: the inspected hash is approved, twice is once, and no decision changes', async () => {
    const of = { dataset_id: set.dataset_id, action: 'approve', reason: 'every case was read' };
    const wrong = await at.tool<Prepared>('review_eval_dataset', {
      ...of,
      dataset_hash: 'f'.repeat(64),
    });
    expect([wrong.refused, wrong.error, wrong.path]).toEqual([
      true,
      'dataset_version_mismatch',
      'dataset_hash',
    ]);
    const counts = async () => (await server.call('GET', '/v1/workspace')).body['counts'];
    const [before, end] = [await counts(), await server.end()];
    const approve = { ...of, dataset_hash: set.dataset_hash };
    expect((await at.tool<Prepared>('review_eval_dataset', approve)).status).toBe('approved');
    expect((await at.tool<Prepared>('review_eval_dataset', approve)).status).toBe('approved');
    expect(await streamsSince(server, end)).toEqual(['dataset']);
    expect(await counts()).toEqual(before);
    expect((await server.call('GET', '/v1/pending?kind=dataset')).body['items']).toEqual([]);
  });

  it('O-47, O-48, O-50: a run resolves every case, is one event, and records what it rests on', async () => {
    const before = await server.end();
    first = await at.tool<Ran>('run_eval', { dataset_id: set.dataset_id });
    expect(first).toMatchObject({
      refused: false,
      dataset_hash: set.dataset_hash,
      scorer_version: 'checks-1',
      ontology_version: 0,
      memory_position: String(before),
      // 5 states, 2 decisions, 2 scopes, 3 excerpts.
      summary: { cases: 5, cases_passed: 5, checks: { pass: 12, fail: 0, not_applicable: 13 } },
    });
    // No answer is kept although capture is on.
    expect(await streamsSince(server, before)).toEqual(['evalrun']);
  });

  it('O-49, O-51: it is read case by case, what was not measured apart', async () => {
    const read = await at.tool<Read>('get_intelligence', { run_id: first.run_id });
    expect(outcomes(read.results)).toEqual(['pppnp', 'pppnp', 'pnnnp', 'pnnnn', 'pnnnn']);
    expect(read.results?.[0]).toMatchObject({
      asked: CASES[0],
      observed: { state: 'verified', value: 30, scope: { region: 'eu' }, excerpts_unresolved: 0 },
    });
    expect(read.results?.[3]?.observed).toMatchObject({ reason: 'No topic bears this name.' });
    expect(read.results?.[4]?.observed['as_of']).toBe('2023-01-01T00:00:00.000Z');
    expect(JSON.stringify(read)).not.toContain(SECRET);
    const all = await at.tool<Read>('get_intelligence', {});
    expect(all.datasets).toMatchObject([
      { status: 'approved', run_count: 1, latest_run: { run_id: first.run_id } },
    ]);
  });

  it('O-52, invariant 10: the export declares its purpose and holds no text, rating or answer', async () => {
    const answer = await server.call('POST', '/v1/answers', { question: 'backups' });
    const rated = await server.call(
      'POST',
      `/v1/answers/${String(answer.body['call_id'])}/ratings`,
      {
        rating: 'incorrect',
        comment: 'Rosebud',
      },
    );
    expect(rated.status).toBeLessThan(300);
    const got = await at.tool<{ jsonl: string; purpose: string }>('export_eval_dataset', {
      dataset_id: set.dataset_id,
    });
    expect(got.purpose).toBe('evaluation_only');
    const lines = got.jsonl
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(line).toMatchObject({ purpose: 'evaluation_only' });
    expect(lines[1]).toMatchObject({ case: 0, ...CASES[0] });
    for (const word of [SECRET, 'Rosebud', first.run_id, 'call_', 'src_', 'not_applicable'])
      expect(got.jsonl).not.toContain(word);
  });

  it('O-43, O-45, QO-18, invariant 9: a retired dataset is read, and neither run nor exported', async () => {
    const retired = await at.tool<Prepared>('review_eval_dataset', {
      dataset_id: set.dataset_id,
      dataset_hash: set.dataset_hash,
      action: 'retire',
      reason: 'replaced',
    });
    expect(retired.status).toBe('retired');
    const end = await server.end();
    for (const name of ['run_eval', 'export_eval_dataset'])
      expect(await at.tool<Ran>(name, { dataset_id: set.dataset_id })).toMatchObject({
        refused: true,
        error: 'dataset_retired',
      });
    expect((await at.review(set)).body.error).toBe('dataset_retired');
    expect(await server.end()).toBe(end);
    const read = await at.read(`datasets/${set.dataset_id}`);
    expect(read.dataset).toMatchObject({
      status: 'retired',
      retired: { by: 'owner', reason: 'replaced' },
    });
    expect([read.cases?.length, read.runs?.length]).toEqual([5, 1]);
    expect((await at.read(`runs/${first.run_id}`)).results).toHaveLength(5);
  });
});

describe('what is refused', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  beforeAll(async () => {
    server = await start();
    at = kit(server);
  });

  it('O-42, invariant 9: 0 and 21 cases, strange fields, impossible and malformed expectations; nothing is stored', async () => {
    const end = await server.end();
    const one = { question: 'x', expect: { state: 'unknown' } };
    for (const [cases, path] of [
      [[], 'cases'],
      [Array(21).fill(one), 'cases'],
      [[one, { ...one, expected: 1 }], 'cases[1].expected'],
      [[{ ...one, expect: { state: 'unknown', answer: 'x' } }], 'cases[0].expect.answer'],
      [[{ question: 'x' }], 'cases[0].expect'],
      [[{ question: ' ', expect: { state: 'unknown' } }], 'cases[0].question'],
      [[{ ...one, expect: { state: 'current' } }], 'cases[0].expect.state'],
      [[{ ...one, as_of: '2024-02-30' }], 'cases[0].as_of'],
      [
        [one, { ...one, expect: { state: 'unknown', decision_id: 'x' } }],
        'cases[1].expect.decision_id',
      ],
    ] as const) {
      const { status, body } = await at.prepare({ name: 'no', cases });
      expect([status, body.path, body.fix !== undefined]).toEqual([400, path, true]);
    }
    const value = 'x'.repeat(100_000);
    const large = [{ question: 'x', expect: { state: 'verified', value } }];
    expect((await at.prepare({ name: 'large', cases: large })).status).toBe(413);
    expect(await server.end()).toBe(end);
    expect((await at.prepare({ name: 'most', cases: Array(20).fill(one) })).status).toBe(201);
  });

  it('O-44: unknown datasets and runs, other hashes, comparisons that make no sense', async () => {
    const a = await at.approved([{ question: 'x', expect: { state: 'unknown' } }], 'a');
    const b = await at.approved([{ question: 'y', expect: { state: 'unknown' } }], 'b');
    const [ra, rb] = [await at.run(a.dataset_id), await at.run(b.dataset_id)];
    const end = await server.end();
    for (const [args, error] of [
      [{ dataset_id: 'dataset_0' }, 'unknown_dataset'],
      [{ run_id: 'run_0' }, 'unknown_run'],
      [{ dataset_id: b.dataset_id, run_id: ra.body.run_id }, 'unknown_run'],
      [{ run_id: ra.body.run_id, compare_to: 'run_0' }, 'unknown_run'],
      [{ run_id: ra.body.run_id, compare_to: rb.body.run_id }, 'different_datasets'],
      [{ compare_to: ra.body.run_id }, 'invalid_arguments'],
      [{ cursor: 'x' }, 'invalid_arguments'],
    ] as const)
      expect(await at.tool('get_intelligence', args)).toMatchObject({ refused: true, error });
    const other = await at.run(a.dataset_id, { dataset_hash: b.dataset_hash });
    expect([other.status, other.body.error]).toEqual([409, 'dataset_version_mismatch']);
    expect((await at.run(a.dataset_id, { dataset_hash: a.dataset_hash })).status).toBe(201);
    expect((await at.run('dataset_0')).status).toBe(404);
    expect((await at.export('dataset_0')).status).toBe(404);
    expect(await server.end()).toBe(end + 1);
  });
});

describe('who may', () => {
  const KINDS = [
    ['member', 'person'],
    ['admin', 'person'],
    ['admin', 'service'],
    ['member', 'agent'],
  ] as const;

  it.each([
    ['reviewed', ['admin person', 'admin service', 'owner']],
    ['peer', ['member person', 'admin person', 'admin service', 'owner']],
  ])(
    'O-07: in %s mode %j prepare, review and run; all read; owners alone export',
    async (mode, may) => {
      const server = await start({ PRECEDENT_MODE: mode });
      const at = kit(server);
      const set = await at.approved([{ question: 'x', expect: { state: 'unknown' } }]);
      const keys: Record<string, string> = { owner: server.key };
      for (const [role, kind] of KINDS)
        keys[`${role} ${kind}`] = await server.member(`${role}-${kind}`, role, kind);
      const governs = Object.entries(keys).map(async ([who, key]) => {
        const cases = [{ question: who, expect: { state: 'unknown' } }];
        const ids = [
          at.prepare({ name: who, cases }, key),
          at.review(set, 'approve', key),
          at.run(set.dataset_id, {}, key),
        ];
        const statuses = (await Promise.all(ids)).map(({ status }) => status);
        expect([who, statuses]).toEqual([
          who,
          may.includes(who) ? [201, 200, 201] : [403, 403, 403],
        ]);
        expect((await at.read(`datasets/${set.dataset_id}`, key)).cases).toHaveLength(1);
        const { status } = await at.export(set.dataset_id, key);
        expect([who, status]).toEqual([who, who === 'owner' ? 200 : 403]);
      });
      await Promise.all(governs);
    },
  );

  it('QO-12: with four eyes the preparer’s approval is refused and a second person’s is not', async () => {
    const server = await start();
    const at = kit(server);
    await server.call('POST', '/v1/organisation/settings', { four_eyes: true });
    const admin = await server.member('bob', 'admin');
    const { body } = await at.prepare({
      name: 's',
      cases: [{ question: 'x', expect: { state: 'unknown' } }],
    });
    const own = await at.review(body);
    expect([own.status, own.body.error]).toEqual([403, 'four_eyes_required']);
    expect((await at.review(body, 'approve', admin)).body.status).toBe('approved');
  });
});
