import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { ontologyKit } from '../support/ontology.js';

interface Candidates {
  state: string;
  decision?: unknown;
  reason: string;
  position: string;
  candidate_topics: { topic: string; name: string; state: string }[];
  candidate_excerpts: {
    source_id: string;
    title: string;
    excerpt: string;
    start: number;
    end: number;
    topic?: string;
    statement?: string;
    state?: string;
  }[];
}

let dir: string;
let server: TestApplication;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'precedent-search-'));
  server = await start();
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const start = (): Promise<TestApplication> =>
  TestApplication.start({ PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir });

const ask = async (question: string, more: object = {}): Promise<Candidates> =>
  (await server.call<Candidates>('POST', '/v1/answers', { question, ...more })).body;

const MINUTES =
  'Minutes of the board.\n\nWe talked about the weather for a long time.\n\n' +
  'Suppliers are paid after sixty days from the first of May on, and nobody may promise less.\n\nThen we had lunch.';

async function decide(topic: string, text: string, more: object = {}): Promise<string> {
  const job = (await server.ingest({
    source: { title: `Note on ${topic}`, type: 'note', text },
    records: [{ topic, statement: text, status: 'approved', evidence: [{ quote: text }], ...more }],
  })) as { records: { outcome: string; decision_id: string }[] };
  expect(job.records).toMatchObject([{ outcome: 'stored' }]);
  return job.records[0]?.decision_id ?? '';
}

describe('QO-25: questions that name no topic', () => {
  it('finds the passage of a captured text, with its offsets, right after the write (P3)', async () => {
    await server.ingest({
      source: { title: 'Board 12', type: 'minutes', text: MINUTES },
      records: [],
    });
    const { state, candidate_excerpts } = await ask('When are suppliers paid?');
    expect(state).toBe('unknown');
    const [first] = candidate_excerpts;
    expect(first).toMatchObject({ title: 'Board 12' });
    expect(first).not.toHaveProperty('topic');
    expect(first?.excerpt).toContain('Suppliers are paid after sixty days');
    expect(MINUTES.slice(first?.start, first?.end)).toBe(first?.excerpt);
  });

  it('QO-4: suggests topics by words of their statements and never answers with them', async () => {
    await decide('Payment terms', 'Suppliers get their money sixty days after the invoice.');
    const answer = await ask('when do suppliers get money');
    expect(answer).toMatchObject({
      state: 'unknown',
      candidate_topics: [{ topic: 'payment-terms', name: 'Payment terms', state: 'approved' }],
    });
    expect(answer.decision).toBeUndefined();
    expect(answer.candidate_excerpts[0]).toMatchObject({
      topic: 'payment-terms',
      state: 'approved',
    });
    const history = await server.call<Candidates>('GET', '/v1/topics/suppliers%20money/history');
    expect(history.body.candidate_topics).toMatchObject([{ topic: 'payment-terms' }]);
  });

  it('what was superseded or revoked says so and stands below what is in force', async () => {
    const before = await decide('Badge colour', 'Visitors wear green badges in the tower.');
    const now = await decide('Badge colour', 'Visitors wear purple badges in the tower.', {
      supersedes: [before],
    });
    const gone = await decide('Visitors at night', 'Visitors wear badges in the tower at night.');
    await server.call('POST', `/v1/decisions/${encodeURIComponent(gone)}/reviews`, {
      action: 'revoke',
      reason: 'no nights any more',
    });
    const { candidate_topics, candidate_excerpts } = await ask(
      'which green badges do visitors wear in the tower at night',
    );
    expect(candidate_topics).toMatchObject([
      { topic: 'badge-colour', state: 'approved' },
      { topic: 'visitors-at-night', state: 'revoked' },
    ]);
    const states = candidate_excerpts.slice(0, 3).map((e) => e.state);
    expect(states[0]).toBe('approved');
    expect(states.slice(1).sort()).toEqual(['revoked', 'superseded']);
    expect(now).not.toBe(before);
  });

  it('shows nothing that was not known then', async () => {
    const { position } = await ask('anything');
    await decide('Aardvarks', 'The aardvark is our animal.');
    expect((await ask('aardvark animal')).candidate_topics).toHaveLength(1);
    const then = await ask('aardvark animal', { known_at: position });
    expect(then.candidate_topics).toEqual([]);
    expect(then.candidate_excerpts).toEqual([]);
    expect(then.reason).toContain('nothing recorded resembles');
  });

  it('says the same after a restart, and after the read models were thrown away', async () => {
    const questions = ['when do suppliers get money', 'badges in the tower', 'aardvark', 'lunch'];
    const all = async (): Promise<unknown[]> => {
      const answers: unknown[] = [];
      for (const question of questions) {
        const { candidate_topics, candidate_excerpts } = await ask(question);
        answers.push({ candidate_topics, candidate_excerpts });
      }
      return answers;
    };
    const first = await all();
    await server.close();
    server = await start();
    expect(await all()).toEqual(first);
    await server.close();
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `read.sqlite${end}`), { force: true });
    server = await start();
    expect(await all()).toEqual(first);
    expect(JSON.stringify(first)).toContain('aardvark');
  });
});

describe('QO-25: a topic that only the ontology declares', () => {
  beforeAll(async () => {
    await ontologyKit(server).change(
      { op: 'add_topic', name: 'Zeppelin parking', aliases: ['airship mooring'] },
      { op: 'add_topic', name: 'Zither tuning' },
    );
  });

  it('is suggested for a question near its name or alias, though nothing was decided on it', async () => {
    for (const question of ['where is the zeppelin parked?', 'who pays for mooring an airship?']) {
      const answer = await ask(question);
      expect(answer.state).toBe('unknown');
      expect(answer.candidate_topics[0]).toMatchObject({ name: 'Zeppelin parking', state: 'none' });
    }
    const { candidate_topics } = await ask('zither lessons');
    expect(candidate_topics.map((t) => t.name)).toContain('Zither tuning');
    const history = await server.call<Candidates>(
      'GET',
      '/v1/topics/zeppelin%20park%20fee/history',
    );
    expect(history.body.candidate_topics[0]?.name).toBe('Zeppelin parking');
  });

  it('not before it was declared', async () => {
    const { candidate_topics } = await ask('where is the zeppelin parked?', {
      known_at: '2020-01-01',
    });
    expect(candidate_topics).toEqual([]);
  });
});
