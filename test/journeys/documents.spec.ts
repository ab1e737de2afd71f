import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { ontologyKit } from '../support/ontology.js';

interface Row {
  outcome: string;
  reason?: string;
  decision_id: string;
  topic: string;
  path: string;
}
interface Finding {
  kind: string;
  documents: string[];
  detail: string;
}
interface Job {
  records: Row[];
  findings: Finding[];
}
interface Answer {
  state: string;
  decision?: { id: string; topic: string };
  evidence: { excerpt: string }[];
  history: { id: string; state: string }[];
}

let server: TestApplication;
let member: string;
beforeAll(async () => {
  server = await TestApplication.start();
  member = await server.member('mia', 'member');
});
afterAll(() => server.close());

interface Words {
  title?: string;
  status?: string;
  says?: string;
  date?: string;
}

const adr = (
  n: number,
  { title = `Choice ${n}`, status = 'Accepted', says = `We use ${n}.`, date }: Words = {},
) => ({
  path: `000${n}-choice.md`,
  text: `# ${n}. ${title}\n\nDate: ${date ?? `202${n}-01-01`}\n\n## Status\n\n${status}\n\n## Decision\n\n${says}\n`,
});

/** A folder that is handed in again and again; each time what a dry run says is what happens. */
function folder(collection: string) {
  return {
    async hand(documents: object[], key = server.key): Promise<Job> {
      const dry = await server.call<Job>(
        'POST',
        '/v1/ingestions',
        { collection, documents, dry_run: true },
        key,
      );
      const job = (await server.ingest({ collection, documents }, key)) as unknown as Job;
      const expected = (list: Row[]) =>
        list
          .map(({ path, outcome, decision_id, topic }) => [path, outcome, decision_id, topic])
          .sort();
      expect(expected(dry.body.records)).toEqual(expected(job.records));
      expect(dry.body.findings).toEqual(job.findings);
      return job;
    },
    ask: async (topic: string, more: object = {}): Promise<Answer> =>
      (
        await server.call<Answer>('POST', '/v1/answers', {
          question: 'q',
          topic: `${collection}-${topic}`,
          ...more,
        })
      ).body,
  };
}

const review = (id: string, body: object, key = server.key) =>
  server.call<{ error?: string; fix?: string; state?: string }>(
    'POST',
    `/v1/decisions/${encodeURIComponent(id)}/reviews`,
    { reason: 'agreed', ...body },
    key,
  );
const ofKind = (job: Job, kind: string): Finding[] => job.findings.filter((f) => f.kind === kind);
const only = (job: Job): Row => {
  const [row, ...more] = job.records;
  if (!row || more.length > 0) throw new Error('not one record');
  return row;
};

describe('a document that changes and comes back', () => {
  const seconds = (n: number) => [adr(1, { says: `The timeout is ${n} seconds.` })];

  it('QO-23: what it says now is current, as often as it comes back, and again stores nothing', async () => {
    const at = folder('back');
    const ids: string[] = [];
    for (const n of [10, 20, 10, 20, 10]) {
      const row = only(await at.hand(seconds(n)));
      expect([n, row.outcome]).toEqual([n, 'stored']);
      ids.push(row.decision_id);
      const answer = await at.ask('0001-choice');
      expect([answer.state, answer.decision?.id]).toEqual(['verified', row.decision_id]);
      expect(answer.evidence[0]?.excerpt).toContain(`${n} seconds`);
      expect(answer.history.map((h) => h.id).sort()).toEqual(ids.slice(0, -1).sort());
      const again = await at.hand(seconds(n));
      expect(only(again)).toMatchObject({ outcome: 'skipped', decision_id: row.decision_id });
      expect(again.findings).toEqual([]);
    }
    expect(new Set(ids).size).toBe(5);
  });

  it('QO-23: handed in by a member it waits, and what a reviewer said no to does not come back', async () => {
    const at = folder('waits');
    await at.hand(seconds(10));
    await at.hand(seconds(20));
    const waiting = only(await at.hand(seconds(10), member));
    expect(waiting).toMatchObject({ outcome: 'queued', reason: 'requires_governor' });
    expect((await at.ask('0001-choice')).evidence[0]?.excerpt).toContain('20 seconds');
    expect((await review(waiting.decision_id, { action: 'reject' })).status).toBe(200);
    const again = await at.hand(seconds(10), member);
    expect(only(again)).toMatchObject({
      outcome: 'skipped',
      decision_id: waiting.decision_id,
      reason: expect.stringMatching(/^decided_before: /),
    });
    expect(ofKind(again, 'decided_before')).toHaveLength(1);
  });

  it('B43: one that comes back while it waits takes the place of what it said in between', async () => {
    const at = folder('waiting');
    const rows: Row[] = [];
    for (const n of [10, 20, 10]) rows.push(only(await at.hand(seconds(n), member)));
    expect(rows.map((r) => r.outcome)).toEqual(['queued', 'queued', 'queued']);
    const pending = await server.call<{ items: { id: string }[] }>(
      'GET',
      '/v1/pending?topic=waiting-0001-choice',
    );
    expect(pending.body.items.map((i) => i.id)).toEqual([rows[2]?.decision_id]);
  });

  it('QO-23: a successor that comes with it supersedes what it says now', async () => {
    const at = folder('both');
    await at.hand(seconds(10));
    await at.hand(seconds(20));
    const old = { status: 'Superseded by [2](0002-choice.md)', says: 'The timeout is 10 seconds.' };
    const job = await at.hand([
      adr(1, old),
      adr(2, { status: 'Accepted\n\nSupersedes [1](0001-choice.md)' }),
    ]);
    expect(job.records.map((r) => r.outcome)).toEqual(['stored', 'stored']);
    const answer = await at.ask('0001-choice');
    expect([answer.state, answer.decision?.id]).toEqual(['verified', job.records[1]?.decision_id]);
  });
});

describe('a document whose status changes', () => {
  it.each(['Rejected', 'Withdrawn', 'Proposed', 'Deprecated', 'Obsolete', 'Superseded', 'Frobbed'])(
    'QO-23: accepted and now %s, it is a finding and nothing is retired',
    async (status) => {
      const at = folder(`now-${status}`.toLowerCase());
      const held = only(await at.hand([adr(1)]));
      const job = await at.hand([adr(1, { status })]);
      const [finding, ...more] = ofKind(job, 'status_contradicts_decision');
      expect([finding?.documents, more]).toEqual([['0001-choice.md'], []]);
      expect(finding?.detail).toContain(held.decision_id);
      expect(finding?.detail).toContain(`reads "${status}"`);
      expect((await at.ask('0001-choice')).decision?.id).toBe(held.decision_id);
      // Once it was revoked, both say the same.
      await review(held.decision_id, { action: 'revoke' });
      expect(ofKind(await at.hand([adr(1, { status })]), 'status_contradicts_decision')).toEqual(
        [],
      );
    },
  );

  it('QO-23: a member who hands in what is accepted and approved has nothing to be told', async () => {
    const at = folder('by-member');
    await at.hand([adr(1)]);
    expect((await at.hand([adr(1)], member)).findings).toEqual([]);
  });

  it('QO-23: a supersession that the folder takes back leaves both in their topic, with a finding each', async () => {
    const at = folder('undone');
    const first = only(await at.hand([adr(1)]));
    const joined = await at.hand([
      adr(1, { status: 'Superseded by [2](0002-choice.md)' }),
      adr(2, { title: 'Undone', status: 'Accepted\n\nSupersedes [1](0001-choice.md)' }),
    ]);
    const second = joined.records.find((r) => r.path.startsWith('0002'));
    const job = await at.hand([adr(1), adr(2, { title: 'Undone', status: 'Rejected' })]);
    expect(job.records.map((r) => [r.outcome, r.topic])).toEqual([
      ['skipped', first.topic],
      ['skipped', first.topic],
    ]);
    const details = ofKind(job, 'status_contradicts_decision').map(
      (f) => `${f.documents.join()} ${f.detail}`,
    );
    expect(details.sort()).toEqual([
      expect.stringContaining(`${first.decision_id}, which it gave, was superseded by`),
      expect.stringContaining(`${second?.decision_id ?? ''}, which it gave, is approved`),
    ]);
    // Its title goes on naming one topic.
    const named = await server.call<Answer>('POST', '/v1/answers', { question: 'Undone' });
    expect(named.body.state).toBe('verified');
  });
});

describe('a document and the topics that know it (ADR 8)', () => {
  const linked = [
    adr(1, { status: 'Superseded by [2](0002-choice.md)' }),
    adr(2, { status: 'Accepted\n\nSupersedes [1](0001-choice.md)' }),
  ];

  it('QO-23: it keeps its topic where the first of its line has left the folder', async () => {
    const at = folder('left');
    await at.hand(linked);
    const job = await at.hand([adr(2, { says: 'We use two.' })]);
    expect(only(job)).toMatchObject({ outcome: 'stored', topic: 'left-0001-choice' });
    expect((await at.ask('0001-choice')).decision?.id).toBe(only(job).decision_id);
  });

  it('QO-23: one that came first alone takes its predecessor into its topic', async () => {
    const at = folder('late');
    await at.hand([adr(2)]);
    const job = await at.hand(linked);
    expect(new Set(job.records.map((r) => r.topic))).toEqual(new Set(['late-0002-choice']));
    expect(ofKind(job, 'topic_merge_needed')).toEqual([]);
  });

  it('QO-22: two topics that a later link joins are named until they are merged', async () => {
    const at = folder('apart');
    await at.hand([adr(1), adr(2)]);
    const third = [
      linked[0] ?? {},
      adr(2, { status: 'Superseded by [3](0003-choice.md)\n\nSupersedes [1](0001-choice.md)' }),
      adr(3, { status: 'Accepted\n\nSupersedes [2](0002-choice.md)' }),
    ];
    for (const documents of [linked, third]) {
      const [finding, ...more] = ofKind(await at.hand(documents), 'topic_merge_needed');
      expect([finding?.documents, more]).toEqual([['0002-choice.md'], []]);
      expect(finding?.detail).toContain('apart-0001-choice');
      expect(finding?.detail).toContain('apart-0002-choice');
    }
    await ontologyKit(server).change({
      op: 'merge_topics',
      topic: 'apart-0002-choice',
      into: 'apart-0001-choice',
    });
    while ((await at.ask('0002-choice')).decision?.topic === 'apart-0002-choice')
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ofKind(await at.hand(third), 'topic_merge_needed')).toEqual([]);
  });
});

describe('what somebody said no to', () => {
  const note = (more: object) => ({
    source: { title: 'note', type: 'note', text: 'We pay within thirty days.' },
    records: [
      {
        topic: 'no',
        statement: 'thirty days',
        status: 'approved',
        evidence: [{ quote: 'thirty days' }],
        ...more,
      },
    ],
  });
  const record = async (more: object = {}): Promise<Row> =>
    only((await server.ingest(note(more))) as unknown as Job);

  it('O-29: says so when it comes again in the same words, and what is advised works', async () => {
    const first = await record();
    await review(first.decision_id, { action: 'revoke' });
    const again = await record();
    expect(again).toMatchObject({ outcome: 'skipped', decision_id: first.decision_id });
    expect(again.reason).toMatch(/^decided_before: .* is revoked; .*decided_at or effective_from/);
    const dry = await server.call<Job>('POST', '/v1/ingestions', { ...note({}), dry_run: true });
    expect(dry.body.records[0]?.reason).toBe(again.reason);
    const refused = await review(first.decision_id, { action: 'approve' });
    expect([refused.status, refused.body.error]).toEqual([409, 'already_decided']);
    expect(refused.body.fix).toContain('decided_at or effective_from of its own');
    const decided = await record({ decided_at: '2026-06-01' });
    expect(decided.outcome).toBe('stored');
    const answer = await server.call<Answer>('POST', '/v1/answers', { question: 'no' });
    expect(answer.body.decision?.id).toBe(decided.decision_id);
  });

  it('QO-23: a document that states it again is a finding, and another date is another decision', async () => {
    const at = folder('again');
    const first = only(await at.hand([adr(1)]));
    await review(first.decision_id, { action: 'revoke' });
    const again = await at.hand([adr(1)]);
    expect(ofKind(again, 'decided_before').map((f) => f.detail)).toEqual([
      expect.stringContaining(`${first.decision_id} is revoked`),
    ]);
    const dated = await at.hand([adr(1, { date: '2022-02-02' })]);
    expect([only(dated).outcome, dated.findings]).toEqual(['stored', []]);
    expect((await at.ask('0001-choice')).state).toBe('verified');
  });

  it('QO-24: an interval without a moment is refused before anything is stored', async () => {
    for (const status of ['approved', 'candidate'])
      for (const effective_to of ['2026-03-01', '2026-02-28T23:59:00Z']) {
        const end = await server.end();
        const refused = await server.call<{ error: string; path: string }>(
          'POST',
          '/v1/ingestions',
          note({ status, effective_from: '2026-03-01', effective_to }),
        );
        expect([refused.status, refused.body.path]).toEqual([400, 'records[0].effective_to']);
        expect(await server.end()).toBe(end);
      }
  });

  it('QO-8: what cannot be approved as it is waits with what was refused', async () => {
    const ended = await record({ topic: 'ended', effective_to: '2020-01-01' });
    expect(ended.outcome).toBe('queued');
    expect(ended.reason).toMatch(/^invalid_arguments: effective_to: 2020-01-01 is not after/);
  });
});
