import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import { DATASET_LIMITS, identityOf } from './content.js';
import { datasetDecider, type DatasetCommand } from './dataset.js';
import type { DatasetContent, DatasetEvent, EvalCase, Expectation } from './dataset.events.js';

const given = specification(datasetDecider);

const asks = (expect: Expectation, question = 'Payment terms'): EvalCase => ({ question, expect });
const CONTENT: DatasetContent = { name: 'Terms', cases: [asks({ state: 'verified', value: 30 })] };
const { id, hash } = identityOf(CONTENT);

const prepare = (content = CONTENT): DatasetCommand => ({
  type: 'Prepare',
  ...identityOf(content),
  content,
  preparedBy: 'ann',
});
const approve = (more: object = {}): DatasetCommand => ({
  type: 'Approve',
  hash,
  reason: 'read',
  approver: 'ann',
  fourEyes: false,
  ...more,
});
const retire = (of = hash): DatasetCommand => ({ type: 'Retire', hash: of, reason: 'replaced' });

const prepared: DatasetEvent = {
  type: 'DatasetPrepared',
  data: { ...CONTENT, dataset_id: id, dataset_hash: hash, prepared_by: 'ann' },
};
const approved: DatasetEvent = {
  type: 'DatasetApproved',
  data: { dataset_hash: hash, reason: 'read' },
};
const retired: DatasetEvent = {
  type: 'DatasetRetired',
  data: { dataset_hash: hash, reason: 'replaced' },
};

describe('preparing', () => {
  it('O-41: stores a draft, once for the same content', () => {
    given().when(prepare()).then(prepared);
    given(prepared).when(prepare()).then();
    given(prepared, approved, retired).when(prepare()).then();
  });

  it('O-42: the id comes from the content, whatever the order of its fields', () => {
    const reordered = {
      cases: [{ expect: { value: 30, state: 'verified' as const }, question: 'Payment terms' }],
      name: 'Terms',
    };
    expect(identityOf(reordered)).toEqual({ id, hash });
    expect(identityOf({ ...CONTENT, name: 'Other' }).id).not.toBe(id);
    expect(id).toBe(`dataset_${hash.slice(0, 20)}`);
  });

  it('O-42, invariant 9: 1 to 20 cases; 0 and 21 are refused', () => {
    const many = (n: number): DatasetContent => ({
      name: 'many',
      cases: Array.from({ length: n }, (_, i) => asks({ state: 'unknown' }, `question ${i}`)),
    });
    expect(DATASET_LIMITS.cases).toBe(20);
    for (const n of [1, 20])
      given()
        .when(prepare(many(n)))
        .thenMatches((events) => {
          expect(events).toHaveLength(1);
        });
    for (const n of [0, 21])
      expect(
        given()
          .when(prepare(many(n)))
          .thenRefused('invalid_arguments').path,
      ).toBe('cases');
  });

  it('refuses more text than a run could be shown with', () => {
    const value = 'x'.repeat(DATASET_LIMITS.bytes);
    const refusal = given()
      .when(prepare({ name: 'large', cases: [asks({ state: 'verified', value })] }))
      .thenRefused('too_large');
    expect([refusal.kind, refusal.path]).toEqual(['too_large', 'cases']);
  });

  it.each([
    ['unknown', { decision_id: 'x' }, 'decision_id'],
    ['unknown', { value: null }, 'value'],
    ['unknown', { scope: {} }, 'scope'],
    ['unknown', { sources: ['x'] }, 'sources'],
    ['contested', { decision_id: 'x' }, 'decision_id'],
    ['contested', { value: 1 }, 'value'],
    ['contested', { scope: {} }, 'scope'],
    ['insufficient_evidence', { sources: ['x'] }, 'sources'],
  ] as const)('O-41: an answer that is %s with %j cannot be expected', (state, more, field) => {
    const cases = [asks({ state: 'unknown' }), asks({ state, ...more } as Expectation)];
    const refusal = given()
      .when(prepare({ name: 'no', cases }))
      .thenRefused('impossible_expectation');
    expect([refusal.path, refusal.fix !== undefined]).toEqual([`cases[1].expect.${field}`, true]);
  });

  it('what an answer can have may be expected', () => {
    const cases = [
      asks({ state: 'contested', sources: ['minutes/1.md'] }),
      asks({ state: 'insufficient_evidence', decision_id: 'x', scope: {} }),
      asks({ state: 'unknown', sources: [] }),
      asks({ state: 'verified', decision_id: 'x', value: null, scope: {}, sources: ['s'] }),
    ];
    given()
      .when(prepare({ name: 'yes', cases }))
      .thenMatches((events) => {
        expect(events).toHaveLength(1);
      });
  });
});

describe('reviewing', () => {
  it('O-44, QO-17: approves the inspected hash and no other; twice is once', () => {
    given(prepared).when(approve()).then(approved);
    given(prepared, approved)
      .when(approve({ approver: 'bob' }))
      .then();
    const refusal = given(prepared)
      .when(approve({ hash: 'f'.repeat(64) }))
      .thenRefused('dataset_version_mismatch');
    expect([refusal.path, refusal.issues[0]?.problem]).toEqual([
      'dataset_hash',
      `the dataset has the hash ${hash}`,
    ]);
    given().when(approve()).thenRefused('unknown_dataset');
  });

  it('QO-12: with four eyes the preparer does not approve his own', () => {
    given(prepared)
      .when(approve({ fourEyes: true }))
      .thenRefused('four_eyes_required');
    given(prepared)
      .when(approve({ fourEyes: true, approver: 'bob' }))
      .then(approved);
  });

  it('O-45: what is retired stays so', () => {
    given(prepared).when(retire()).then(retired);
    given(prepared, approved).when(retire()).then(retired);
    given(prepared, approved, retired).when(retire()).then();
    given(prepared, retired).when(approve()).thenRefused('dataset_retired');
    given(prepared).when(retire('x')).thenRefused('dataset_version_mismatch');
    given().when(retire()).thenRefused('unknown_dataset');
  });
});
