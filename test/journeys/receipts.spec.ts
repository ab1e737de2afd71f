import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import {
  answerDigest,
  verifyReceipt,
  type Receipt,
  type ReceiptPredicate,
} from '#transparency/receipt.js';
import { TestApplication, type Reply } from '../support/application.js';
import { proved } from '../support/proved.js';
import { against, liesThatPass, statementOf, verifiersOf } from '../support/receipts.js';

type Body = Record<string, unknown>;
interface Given extends Body {
  receipt: Receipt & { index: number };
}

let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start();
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
  proved('receipts issued', counted);
});

const counted = { receipts: 0, contradictions: 0, 'lies told': 0, 'lies caught': 0 };

/** Proved with the public key alone, then compared with what the ledger holds. `erased`: members that nothing is left to compare with. */
async function proven(receipt: Receipt, erased: string[] = []): Promise<ReceiptPredicate> {
  const { statement, checkpoint } = verifyReceipt(receipt, await verifiersOf(server));
  const { predicate } = statement;
  expect(checkpoint.size).toBeGreaterThan(predicate.index);
  const found = await against(server, predicate);
  expect(found).toEqual([]);
  const { told, passed } = await liesThatPass(server, predicate);
  expect(passed).toEqual(erased);
  counted.receipts += 1;
  counted['lies told'] += told - erased.length;
  counted['lies caught'] += told - passed.length;
  counted.contradictions += found.length;
  return predicate;
}

const ask = async (input: object): Promise<Given> => {
  const { status, body } = await server.call<Given>('POST', '/v1/answers', input);
  expect(status).toBe(200);
  return body;
};
const receiptOf = (path: string, key?: string): Promise<Reply<Receipt & { index: number }>> =>
  server.call('GET', `/v1/${path}/receipt`, undefined, key);

interface Said {
  value: string;
  status?: 'approved' | 'candidate';
  scope?: Record<string, string>;
  effective_from?: string;
  effective_to?: string;
  supersedes?: string[];
}

/** One record in a topic, and the id of its decision. */
async function record(topic: string, said: Said): Promise<string> {
  const job = await server.ingest({
    source: { title: `${topic} ${said.value}`, type: 'note', text: `It is ${said.value}.` },
    records: [
      {
        topic,
        statement: said.value,
        status: 'approved',
        evidence: [{ quote: said.value }],
        ...said,
      },
    ],
  });
  return (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
}

async function conflictIn(topic: string): Promise<string> {
  const { body } = await server.call<{ conflicts: { conflict_id: string }[] }>(
    'GET',
    `/v1/conflicts?topic=${topic}`,
  );
  return body.conflicts[0]?.conflict_id ?? '';
}

const path = (kind: string, id: string): string => `${kind}/${encodeURIComponent(id)}`;

describe('receipts of answers', () => {
  it('QO-26, P9: say in digests what was asked and answered, and verify with the public key alone', async () => {
    const scope = { region: 'eu' };
    const old = await record('terms', { value: 'net 30', scope, effective_from: '2024-01-01' });
    const id = await record('terms', {
      value: 'net 60',
      scope,
      effective_from: '2026-01-01',
      effective_to: '2030-01-01',
      supersedes: [old],
    });
    const asked = { question: 'terms', scope };
    const { receipt, ...answer } = await ask({ ...asked, receipt: true });
    const predicate = await proven(receipt);
    expect(predicate).toMatchObject({
      kind: 'answer',
      event_type: 'AnswerGiven',
      question_sha256: answerDigest(asked),
      answer_sha256: answerDigest(answer),
      state: 'verified',
      topic: 'terms',
      scope,
      decision: { id },
      valid_from: '2026-01-01T00:00:00.000Z',
      valid_until: '2030-01-01T00:00:00.000Z',
      as_of: answer['as_of'],
      ontology_version: 0,
      evidence: [{ source_id: expect.stringMatching(/^src_/), sha256: sha256('It is net 60.') }],
      approvers: ['owner'],
      index: receipt.index,
    });
    expect(JSON.stringify(predicate)).not.toMatch(/net 60|main/);
  });

  it('O-13: the same request_id gives the same answer and receipt, also after more was recorded and signed', async () => {
    await record('stable', { value: 'yes' });
    const input = { question: 'stable', request_id: 'receipt-1' };
    const plain = await ask(input);
    expect(plain.receipt).toBeUndefined();
    const end = await server.end();
    const { receipt: first, ...answer } = await ask({ ...input, receipt: true });
    expect(answer).toEqual(plain);
    await record('stable', { value: 'no' });
    await ask({ question: 'terms', receipt: true });
    const { receipt: later, ...again } = await ask({ ...input, receipt: true });
    expect(again).toEqual(plain);
    expect(JSON.stringify(later)).toBe(JSON.stringify(first));
    expect((await proven(later)).position).toBe(String(end));
    await proven(first);
  });

  it('QO-26: every state has one, at any time and as far as anything was known', async () => {
    await record('waits', { value: 'perhaps', status: 'candidate' });
    await record('torn', { value: 'left' });
    await record('torn', { value: 'right' });
    const questions = ['terms', 'torn', 'waits', 'no such topic'];
    const states = new Set<unknown>();
    for (const question of questions)
      for (const more of [
        {},
        { as_of: '2025-06-01' },
        { known_at: '3' },
        { scope: { region: 'eu' } },
      ]) {
        const { receipt, ...answer } = await ask({ question, ...more, receipt: true });
        const predicate = await proven(receipt);
        expect(predicate.state).toBe(answer['state']);
        expect(predicate.answer_sha256).toBe(answerDigest(answer));
        states.add(predicate.state);
      }
    expect([...states].sort()).toEqual([
      'contested',
      'insufficient_evidence',
      'unknown',
      'verified',
    ]);
  });

  it('a captured answer has one under its call_id; an answer that was not captured is not found', async () => {
    const before = await ask({ question: 'terms', request_id: 'receipt-2' });
    await server.call('POST', '/v1/workspace/settings', { answer_capture: true });
    const answer = await ask({ question: 'terms', request_id: 'receipt-3' });
    await server.call('POST', '/v1/workspace/settings', { answer_capture: false });
    const got = await receiptOf(path('answers', String(answer['call_id'])));
    expect(got.status).toBe(200);
    expect(await proven(got.body)).toMatchObject({
      answer_sha256: answerDigest(answer),
      execution_id: answer['call_id'],
    });
    // The answer is kept under the hash of its request_id, which is a name that anybody could make up.
    expect(before['call_id']).toBeUndefined();
    const made = `call_${sha256('receipt-2').slice(0, 32)}`;
    const refused = await receiptOf(path('answers', made));
    expect([refused.status, (refused.body as unknown as Body)['error']]).toEqual([
      404,
      'unknown_call',
    ]);
  });
});

describe('receipts of approvals', () => {
  it('O-31: name who approved what on which evidence, with the reason as a hash', async () => {
    const id = await record('reviewed', {
      value: 'ninety days',
      status: 'candidate',
      effective_from: '2026-02-01',
    });
    const early = await receiptOf(path('decisions', id));
    expect([early.status, (early.body as unknown as Body)['error']]).toEqual([409, 'not_approved']);
    const key = await server.member('boss', 'admin');
    const reason = 'agreed on Monday';
    await server.call(
      'POST',
      `/v1/${path('decisions', id)}/reviews`,
      { action: 'approve', reason },
      key,
    );
    const { body: receipt } = await receiptOf(path('decisions', id));
    expect(await proven(receipt)).toMatchObject({
      kind: 'approval',
      event_type: 'DecisionApproved',
      state: 'approved',
      topic: 'reviewed',
      scope: {},
      decision: { id, content_hash: expect.stringMatching(/^[0-9a-f]{64}$/), revision: 3 },
      valid_from: '2026-02-01T00:00:00.000Z',
      evidence: [{ sha256: sha256('It is ninety days.') }],
      approvers: ['boss'],
      reason_sha256: sha256(reason),
    });
  });

  it('stay the same whatever becomes of the decision, and any member may fetch them', async () => {
    const id = await record('lasting', { value: 'one' });
    const first = await receiptOf(path('decisions', id));
    await record('lasting', { value: 'two', supersedes: [id] });
    const agent = await server.member('reader', 'member', 'agent');
    const later = await receiptOf(path('decisions', id), agent);
    expect(later.status).toBe(200);
    expect({ ...later.body, tlog_proof: '' }).toEqual({ ...first.body, tlog_proof: '' });
    await proven(later.body);
  });
});

describe('after an erasure', () => {
  it('P8: old receipts hold, and new ones say the same but for the hash of what is gone', async () => {
    await server.call('POST', '/v1/workspace/settings', { answer_capture: true });
    const id = await record('private', { value: 'a private matter' });
    const asked = { question: 'private', request_id: 'erased-1', receipt: true };
    const answer = await ask(asked);
    await server.call('POST', '/v1/workspace/settings', { answer_capture: false });
    const paths = [path('decisions', id), path('answers', String(answer['call_id']))];
    const before = await Promise.all(paths.map(async (p) => (await receiptOf(p)).body));
    const source_id = (await proven(before[0] as Receipt)).evidence?.[0]?.source_id;
    const erased = await server.call('POST', '/v1/erasures', { source_id, reason: 'requested' });
    expect([erased.status, erased.body]).toEqual([200, erased.body]);
    for (const [i, old] of before.entries()) {
      const gone = i === 0 ? ['reason_sha256'] : [];
      const { reason_sha256: _gone, ...said } = await proven(old, gone);
      const { body } = await receiptOf(paths[i] ?? '');
      expect(await proven(body)).toEqual(said);
      expect(JSON.stringify(statementOf(body))).not.toContain('private matter');
    }
    const again = await server.call('POST', '/v1/answers', asked);
    expect([again.status, again.body['error']]).toEqual([409, 'answer_erased']);
  });
});

describe('receipts of conflicts', () => {
  it.each(['resolve', 'dismiss'] as const)(
    'O-33: %s: how it ended, by whom, and which claim prevailed',
    async (action) => {
      const topic = `dispute-${action}`;
      const winner = await record(topic, { value: 'tea', effective_from: '2026-01-01' });
      const other = await record(topic, { value: 'coffee', effective_from: '2026-01-01' });
      const id = await conflictIn(topic);
      const open = await receiptOf(path('conflicts', id));
      expect([open.status, (open.body as unknown as Body)['error']]).toEqual([
        409,
        'conflict_open',
      ]);
      const reason = 'settled';
      const named = action === 'resolve' ? { winner_decision_id: winner } : {};
      await server.call('POST', `/v1/${path('conflicts', id)}/resolutions`, {
        action,
        reason,
        ...named,
      });
      const { body: receipt } = await receiptOf(path('conflicts', id));
      const predicate = await proven(receipt);
      expect(predicate).toMatchObject({
        kind: 'conflict_resolution',
        state: action === 'resolve' ? 'resolved' : 'dismissed',
        topic,
        conflict: { id, claims: expect.arrayContaining([winner, other]) },
        approvers: ['owner'],
        reason_sha256: sha256(reason),
      });
      expect(predicate.decision?.id).toBe(action === 'resolve' ? winner : undefined);
    },
  );
});

it.each(['decisions', 'conflicts', 'answers'])(
  'B38: a receipt of %s for an id that nothing bears is 404',
  async (kind) => {
    const { status, body } = await receiptOf(path(kind, 'nothing.0123456789ab'));
    expect(status).toBe(404);
    expect(body).toMatchObject({ path: expect.any(String), fix: expect.any(String) });
  },
);
