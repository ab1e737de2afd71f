import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NO_STREAM } from '../../libs/event-store/event-store.js';
import { contentHash, decisionId } from '../../libs/decisions/domain/claim.js';
import { canonicalJson } from '../../libs/kernel/json.js';
import { TestApplication } from '../support/application.js';
import { proved } from '../support/proved.js';

const SEED = Number(
  process.env['MODEL_SEED'] ?? (process.env['CI'] ? 71_183_505 : Date.now() % 1_000_000_000),
);
const NOW = Date.parse('2026-09-14T09:21:33Z');
type Body = Record<string, unknown>;

let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start({}, () => NOW);
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const ask = async (input: object, key?: string): Promise<Body> =>
  (await server.call<Body>('POST', '/v1/answers', { question: 'q', ...input }, key)).body;
const review = (id: string, body: object) =>
  server.call<Body>('POST', `/v1/decisions/${encodeURIComponent(id)}/reviews`, {
    reason: 'agreed',
    ...body,
  });

function submission(topic: string, value: string, more: object = {}): object {
  return {
    source: { title: `${topic} ${value}`, type: 'note', text: `It is ${value}.` },
    records: [
      { topic, statement: value, value, status: 'approved', evidence: [{ quote: value }], ...more },
    ],
  };
}

async function record(topic: string, value: string, more: object = {}): Promise<string> {
  const job = await server.ingest(submission(topic, value, more));
  return (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
}

describe('an answer (QO-26)', () => {
  const ALWAYS = [
    'state', 'label', 'reason', 'alternatives', 'history', 'history_truncated', 'conflicts', 'evidence', 'sources',
    'candidate_topics', 'candidate_excerpts', 'as_of', 'zone', 'ontology_version', 'position', 'answered_at',
  ]; // prettier-ignore

  it('O-11, O-15 to O-20: has every part in every state', async () => {
    const first = await record('shape', 'net 30', {
      effective_from: '2024-01-01',
      decided_at: '2023-12-15',
    });
    await record('shape', 'net 60', { supersedes: [first], effective_from: '2026-01-01' });
    const verified = await ask({ topic: 'shape', known_at: '2026-12-31' });
    expect(Object.keys(verified).sort()).toEqual(
      [...ALWAYS, 'decision', 'topic', 'known_at'].sort(),
    );
    expect(verified).toMatchObject({
      state: 'verified',
      label: 'Current',
      decision: {
        topic: 'shape', scope: {}, statement: 'net 60', value: 'net 60', state: 'approved',
        effective_from: '2026-01-01', approved_by: [{ principal: 'owner' }],
      },
      history: [
        { id: first, state: 'superseded', decided_at: '2023-12-15', ended_at: '2026-01-01T00:00:00.000Z' },
      ],
      evidence: [{ excerpt: 'net 60', start: 6, end: 12, verbatim: true }],
    }); // prettier-ignore
    const sources = (verified['sources'] as { source_id: string }[]).map((s) => s.source_id);
    for (const e of verified['evidence'] as { source_id: string }[])
      expect(sources).toContain(e.source_id);
    const unknown = await ask({ question: 'nothing of this' });
    expect(Object.keys(unknown).sort()).toEqual([...ALWAYS].sort());
    await record('shape', 'net 90', { effective_from: '2026-01-01' });
    const contested = await ask({ topic: 'shape' });
    expect(Object.keys(contested).sort()).toEqual([...ALWAYS, 'topic'].sort());
    expect(contested).toMatchObject({ state: 'contested', conflicts: [{ claims: [{}, {}] }] });
    await record('waiting', 'perhaps', { status: 'candidate' });
    const insufficient = await ask({ topic: 'waiting' });
    expect(Object.keys(insufficient).sort()).toEqual([...ALWAYS, 'topic'].sort());
    expect(insufficient).toMatchObject({
      state: 'insufficient_evidence',
      label: 'Insufficient evidence',
    });
  });

  it('QO-2: a decision whose excerpt stands in no captured source is insufficient evidence', async () => {
    const said = {
      statement: 'net 7', scope: {}, supersedes: [], relations: [],
      evidence: [{ source_id: 'src_lost', excerpt: 'net 7', start: 0, end: 5, verbatim: true }],
    }; // prettier-ignore
    const decision_id = decisionId('lost', said);
    const content_hash = contentHash(said);
    const events: [string, object][] = [
      ['TopicOpened', { topic: 'lost', name: 'lost' }],
      ['DecisionProposed', { decision_id, ...said, content_hash, reasons: [], proposed_by: 'owner', origin: 'j#0' }],
      ['DecisionApproved', { decision_id, content_hash, reason: 'agreed', starts_at: '2020-01-01T00:00:00.000Z', supersedes: [] }],
    ]; // prettier-ignore
    const { position } = await server.application.ledger.store.append(
      'topic-main-lost',
      NO_STREAM,
      events.map(([type, payload], i) => ({
        id: `00000000-0000-4000-8000-00000000000${i}`,
        type,
        version: 1,
        workspace: 'main',
        actor: { principal: 'owner', kind: 'person', credential: null },
        causation: 'test',
        correlation: 'test',
        payload: canonicalJson(payload),
      })),
    );
    expect(await ask({ topic: 'lost', at_least: String(position) })).toMatchObject({
      state: 'insufficient_evidence',
      reason: expect.stringContaining('in no captured source any more'),
      decision: { id: decision_id },
      evidence: [],
      sources: [],
    });
  });

  it('B16, QO-27: what was revoked is current by no way of reading', async () => {
    const id = await record('gone', 'use fax', { effective_from: '2020-01-01' });
    const counts = async () =>
      (await server.call<{ counts: Body }>('GET', '/v1/workspace')).body.counts;
    const before = await counts();
    const { position } = await ask({ topic: 'gone' });
    await review(id, { action: 'revoke', reason: 'fax is gone' });
    expect(await counts()).toMatchObject({ heads: Number(before['heads']) - 1 });
    const now = await ask({ topic: 'gone' });
    expect(now).toMatchObject({ state: 'insufficient_evidence', alternatives: [], evidence: [] });
    expect(now).not.toHaveProperty('decision');
    const history = await server.call<Body>('GET', '/v1/topics/gone/history');
    expect(history.body['heads']).toEqual([]);
    const words = await ask({ question: 'may we use fax' });
    expect(words['state']).toBe('unknown');
    for (const near of words['candidate_topics'] as { topic: string; state: string }[])
      if (near.topic === 'gone') expect(near.state).toBe('revoked');
    expect(await ask({ topic: 'gone', known_at: position })).toMatchObject({ decision: { id } });
    expect(await ask({ topic: 'gone', as_of: '2021-01-01' })).toMatchObject({ decision: { id } });
  });
});

describe('idempotency', () => {
  it('B04: one request_id in two organisations is two requests, and each is repeated by itself', async () => {
    const created = await server.call<{ key: string }>('POST', '/v1/organisations', {
      name: 'Second',
      owner_name: 'Olga',
    });
    const { key } = created.body;
    expect(created.status).toBe(201);
    const mine = { request_id: 'b04', ...submission('b04', 'ours') };
    const theirs = { request_id: 'b04', ...submission('b04', 'theirs') };
    const ours = await server.ingest(mine);
    const foreign = await server.ingest(theirs, key);
    expect(foreign['job_id']).not.toBe(ours['job_id']);
    expect(await ask({ topic: 'b04' })).toMatchObject({ decision: { value: 'ours' } });
    expect(await ask({ topic: 'b04' }, key)).toMatchObject({ decision: { value: 'theirs' } });
    const end = await server.end();
    expect((await server.ingest(theirs, key))['job_id']).toBe(foreign['job_id']);
    expect((await server.ingest(mine))['job_id']).toBe(ours['job_id']);
    expect(await server.end()).toBe(end);
    const asked = { topic: 'b04', request_id: 'b04-answer' };
    const [a, b] = [await ask(asked), await ask(asked, key)];
    expect(a['decision']).not.toEqual(b['decision']);
    expect(JSON.stringify(await ask(asked))).toBe(JSON.stringify(a));
  });

  it(`invariant 5, O-13, O-14: the same request_id and question give the same bytes after any further events (MODEL_SEED=${SEED})`, async () => {
    let n = 0;
    let repeats = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('record', 'supersede', 'revoke', 'contradict', 'ask'), {
          minLength: 3,
          maxLength: 10,
        }),
        async (acts) => {
          const topic = `inv5-${(n += 1)}`;
          let head = await record(topic, 'v0', { effective_from: '2024-01-01' });
          const given: [object, string][] = [];
          for (const [i, act] of acts.entries()) {
            const input = { topic, request_id: `${topic}-${i}`, receipt: i % 2 === 0 };
            given.push([input, JSON.stringify(await ask(input))]);
            if (act === 'record') await record(topic, `v${i}`, { status: 'candidate' });
            if (act === 'supersede') head = await record(topic, `w${i}`, { supersedes: [head] });
            if (act === 'contradict') head = await record(topic, `x${i}`);
            if (act === 'revoke') await review(head, { action: 'revoke' });
          }
          for (const [input, answer] of given) {
            repeats += 1;
            expect(JSON.stringify(await ask(input))).toBe(answer);
            const other = await ask({ ...input, question: 'another one' });
            expect(other['error']).toBe('request_id_conflict');
          }
        },
      ),
      { seed: SEED, numRuns: 12, endOnFailure: true },
    );
    proved('answers given again', { repeats, different: 0 }, `MODEL_SEED=${SEED}`);
  }, 120_000);
});

it('invariant 4: read models built anew give identical answers to every question', async () => {
  const settings = { PRECEDENT_EVENTSTORE: 'sqlite:' };
  let one = await TestApplication.start(settings, () => NOW);
  const { dir } = one;
  const first = server;
  server = one;
  const d1 = await record('four', 'net 30', { effective_from: '2024-01-01' });
  await record('four', 'net 60', { supersedes: [d1], effective_from: '2026-01-01' });
  await record('five', 'this', { effective_from: '2026-01-01' });
  await record('five', 'that', { effective_from: '2026-02-01', scope: { team: 'x' } });
  await record('five', 'other', { effective_from: '2026-02-01' });
  await record('six', 'waits', { status: 'candidate' });
  const position = await one.end();
  const read = async (): Promise<string[]> => {
    const urls = [
      '/v1/workspace', '/v1/conflicts?status=all', '/v1/pending', '/v1/topics/four/history', '/v1/topics/five/history',
      '/v1/ontology', `/v1/conflicts?status=all&known_at=${position - 3}`,
    ]; // prettier-ignore
    const questions = ['four', 'five', 'six'].flatMap((topic) =>
      [
        {},
        { as_of: '2025-01-01' },
        { known_at: String(position - 5) },
        { scope: { team: 'x' } },
      ].map((more) => ({ topic, ...more })),
    );
    const replies = [];
    for (const url of urls) replies.push((await one.call('GET', url)).body);
    for (const question of questions) replies.push(await ask(question));
    return replies.map((reply) => JSON.stringify(reply));
  };
  const before = await read();
  await one.close();
  for (const part of ['', '-wal', '-shm']) rmSync(join(dir, `read.sqlite${part}`), { force: true });
  one = await TestApplication.start({ ...settings, PRECEDENT_DATA: dir }, () => NOW);
  server = one;
  expect(await read()).toEqual(before);
  proved('answers from rebuilt read models', { answers: before.length, different: 0 });
  await one.close();
  rmSync(dir, { recursive: true, force: true });
  server = first;
}, 60_000);
