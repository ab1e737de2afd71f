import { describe, expect, it } from '@jest/globals';
import { Line, TOPIC, claim } from '../../../test/support/topic-line.js';
import type { Proposed, TopicEvent } from './topic.events.js';

const kinds = (events: readonly TopicEvent[]): string[] => events.map((e) => e.type);
const from = (value: string, effective_from: string, more: Partial<Proposed> = {}) =>
  claim(value, { effective_from, ...more });

const A = from('net 30', '2024-01-01');
const LATER = from('net 60', '2028-01-01');
const revocation = (one: Proposed, line: Line, more: { from?: string; fourEyes?: string } = {}) =>
  ({
    type: 'Revoke',
    decisionId: one.decision_id,
    reason: 'withdrawn',
    ...line.timing,
    ...more,
  }) as const;

/** In June 2026: A ends in 2028, when the other begins. */
function replacedLater(): Line {
  const line = new Line();
  line.approve(A);
  line.approve(LATER, { supersedes: [A.decision_id] });
  return line;
}

describe('ending sooner than was decided (QO-27)', () => {
  it('QO-27: one that was revoked from a later time on is revoked now', () => {
    const line = new Line();
    line.approve(A);
    line.revoke(A, '2027-01-01');
    expect(line.revoke(A)).toMatchObject([
      { type: 'DecisionRevoked', data: { ends_at: '2026-06-01T00:00:00.000Z' } },
    ]);
    expect(line.spans()).toEqual({ 'net 30': 'revoked 2024-01-01 2026-06-01' });
  });

  it('QO-27: one that is superseded from a later time on is revoked now, and its successor stays where it was', () => {
    const line = replacedLater();
    expect(kinds(line.revoke(A))).toEqual(['DecisionRevoked']);
    expect(line.spans()).toEqual({
      'net 30': 'revoked 2024-01-01 2026-06-01',
      'net 60': 'approved 2028-01-01 …',
    });
    expect([...line.state.heads]).toEqual([LATER.decision_id]);
  });

  it('QO-27: where the successor was revoked before it began, what it was to replace can be revoked too', () => {
    const line = replacedLater();
    line.revoke(LATER);
    line.revoke(A, '2027-01-01');
    expect(line.spans()).toEqual({
      'net 30': 'revoked 2024-01-01 2027-01-01',
      'net 60': 'revoked 2028-01-01 2028-01-01',
    });
  });

  it('QO-27: the same time again, or a later one, is refused, and it is said until when it holds', () => {
    const line = new Line();
    line.approve(A);
    line.revoke(A, '2027-01-01');
    for (const again of ['2027-01-01', '2030-01-01']) {
      const refusal = line.refused(revocation(A, line, { from: again }));
      expect(refusal).toMatchObject({ error: 'already_decided', path: 'effective_from' });
      expect(refusal.message).toContain('it holds until 2027-01-01T00:00:00.000Z');
      expect(refusal.fix).toContain('earlier effective_from');
    }
  });

  it('ADR 19: what lies behind is history: it is not made shorter afterwards, and what never held is not ended', () => {
    const line = new Line();
    const [old, next] = [from('a', '2020-01-01'), from('b', '2023-01-01')];
    line.approve(old);
    line.approve(next, { supersedes: [old.decision_id] });
    const past = line.refused(revocation(old, line, { from: '2021-01-01' }));
    expect(past).toMatchObject({ error: 'already_decided', path: 'decision_id' });
    expect(past.message).toContain('it held until 2023-01-01T00:00:00.000Z');
    line.approve(LATER, { supersedes: [next.decision_id] });
    line.revoke(LATER);
    expect(line.refused(revocation(LATER, line)).message).toContain('it never held');
  });

  it('P3: of two revocations from now on one is refused, also when it was sent before the other was stored', () => {
    const line = new Line();
    line.approve(A);
    const early = revocation(A, line);
    const slow = claim('net 90');
    line.propose(slow);
    const replacing = line.approval(slow, { supersedes: [A.decision_id] });
    line.now += 5;
    line.revoke(A);
    expect(line.refused(early).error).toBe('already_decided');
    expect(line.refused(replacing).error).toBe('not_approved');
  });

  it('QO-24: a conflict that lasted until then ends with it', () => {
    const line = replacedLater();
    const other = from('net 45', '2026-01-01', { effective_to: '2028-01-01' });
    line.approve(other);
    const conflict = line.conflict;
    expect(line.revoke(A)).toMatchObject([
      { type: 'DecisionRevoked' },
      {
        type: 'ConflictResolved',
        data: { conflict_id: conflict, winner: other.decision_id },
      },
    ]);
  });

  it('QO-12: with four eyes nobody frees his own claim of a contradiction by ending the other, whether or not it ends itself', () => {
    const line = replacedLater();
    const own = from('net 45', '2026-01-01', { proposed_by: 'bob' });
    line.approve(own);
    line.revoke(own, '2027-01-01');
    expect(line.refused(revocation(A, line, { fourEyes: 'bob' })).error).toBe('four_eyes_required');
    expect(kinds(line.decide(revocation(A, line, { fourEyes: 'cleo' })))).toEqual([
      'DecisionRevoked',
      'ConflictResolved',
    ]);
  });

  it('ADR 18: an end to come is known to the topic that absorbed it', () => {
    const timing = new Line().timing;
    const command = {
      type: 'Absorb',
      topic: 'other',
      name: 'other',
      merged: TOPIC,
      from: replacedLater().state,
      nowMs: timing.nowMs,
      succession: 'stated',
    } as const;
    const line = new Line();
    line.decide(command);
    line.revoke(A);
    expect(line.spans()).toMatchObject({ 'net 30': 'revoked 2024-01-01 2026-06-01' });
  });
});
