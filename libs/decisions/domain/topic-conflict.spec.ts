import { describe, expect, it } from '@jest/globals';
import { Line, claim } from '../../../test/support/topic-line.js';
import { neededFor } from './topic-conflict.js';
import type { TopicEvent } from './topic.events.js';

const A = claim('500 EUR', { effective_from: '2024-01-01', proposed_by: 'ann' });
const B = claim('1000 EUR', { effective_from: '2026-03-01', proposed_by: 'bob' });
const C = claim('2000 EUR', { effective_from: '2026-04-01', proposed_by: 'cleo' });
const kinds = (events: readonly TopicEvent[]): string[] => events.map((e) => e.type);

function contested(): Line {
  const line = new Line();
  line.approve(A);
  line.approve(B);
  return line;
}

describe('what opens a conflict', () => {
  it('QO-24: a decision that was revoked from a later date still contradicts until then', () => {
    const line = new Line();
    line.approve(A);
    line.revoke(A, '2027-01-01');
    expect(kinds(line.approve(B))).toEqual(['DecisionApproved', 'ConflictOpened']);
    expect(line.state.openConflicts.get(line.conflict)).toEqual([A.decision_id, B.decision_id]);
  });

  it('QO-24: so does one that a successor replaces from a later date', () => {
    const line = new Line();
    line.approve(A);
    line.approve(claim('new', { effective_from: '2027-01-01', supersedes: [A.decision_id] }));
    const bounded = { effective_from: '2026-03-01', effective_to: '2026-12-01' };
    expect(kinds(line.approve(claim('1000 EUR', bounded)))).toContain('ConflictOpened');
    expect(line.state.openConflicts.get(line.conflict)?.[0]).toBe(A.decision_id);
  });

  it('QO-27: what was revoked already contradicts nothing', () => {
    const line = new Line();
    line.approve(A);
    line.revoke(A);
    expect(kinds(line.approve(B))).toEqual(['DecisionApproved']);
  });

  it('QO-3: a value below another one is an exception, values that meet nowhere are apart', () => {
    const eu = (value: string) => value === 'de' || value === 'fr';
    const isWithin = (_d: string, value: string, above: string) =>
      value === above || (above === 'eu' && eu(value));
    const line = new Line('2026-06-01', { isWithin });
    line.approve(claim('14 days', { scope: { region: 'eu' } }));
    expect(kinds(line.approve(claim('30 days', { scope: { region: 'de' } })))).toEqual([
      'DecisionApproved',
    ]);
    expect(kinds(line.approve(claim('7 days', { scope: { region: 'fr' } })))).toEqual([
      'DecisionApproved',
    ]);
    const crossing = claim('1 day', { scope: { team: 'x' } });
    expect(kinds(line.approve(crossing))).toContain('ConflictOpened');
    const flat = new Line();
    flat.approve(claim('14 days', { scope: { region: 'eu' } }));
    expect(kinds(flat.approve(claim('30 days', { scope: { region: 'de' } })))).toEqual([
      'DecisionApproved',
    ]);
  });

  it('QO-24: the same value in crossing scopes is no contradiction', () => {
    const line = new Line();
    line.approve(claim('30 days', { scope: { team: 'x' } }));
    expect(kinds(line.approve(claim('30 days', { scope: { region: 'eu' } })))).toEqual([
      'DecisionApproved',
    ]);
  });
});

describe('resolving (O-33, QO-11)', () => {
  it('B13: the winner supersedes the others in the same append, with the reason', () => {
    const line = contested();
    const id = line.conflict;
    const events = line.decide(line.resolution(B));
    expect(events).toEqual([
      {
        type: 'DecisionSuperseded',
        data: {
          decision_id: A.decision_id,
          by: B.decision_id,
          ends_at: '2026-03-01T00:00:00.000Z',
          reason: 'it was meant',
        },
      },
      {
        type: 'ConflictResolved',
        data: { conflict_id: id, winner: B.decision_id, reason: 'it was meant' },
      },
    ]);
    expect(line.spans()).toEqual({
      '500 EUR': 'superseded 2024-01-01 2026-03-01',
      '1000 EUR': 'approved 2026-03-01 …',
    });
    expect([...line.state.heads]).toEqual([B.decision_id]);
  });

  it('where the winner began earlier the loser never held', () => {
    const line = contested();
    line.decide(line.resolution(A));
    expect(line.spans()).toEqual({
      '500 EUR': 'approved 2024-01-01 …',
      '1000 EUR': 'superseded 2026-03-01 2026-03-01',
    });
  });

  it('settles other conflicts that lose their contradiction by it, and only those', () => {
    const line = contested();
    const first = line.conflict;
    line.approve(C);
    const [, second] = [...line.state.openConflicts.keys()];
    const events = line.decide({
      type: 'ResolveConflict',
      conflictId: second ?? '',
      winner: C.decision_id,
      reason: 'the last word',
      ...line.timing,
    });
    expect(kinds(events)).toEqual([
      'DecisionSuperseded', 'DecisionSuperseded', 'ConflictResolved', 'ConflictResolved',
    ]); // prettier-ignore
    expect(events.at(-1)?.data).toMatchObject({ conflict_id: first });
    expect(line.state.openConflicts.size).toBe(0);
  });

  it('refuses a winner that is no claim, one that is not approved, a conflict that is closed or unknown', () => {
    const line = contested();
    line.propose(C);
    expect(line.refused(line.resolution(C))).toMatchObject({
      error: 'not_a_claim',
      path: 'winner_decision_id',
      fix: expect.stringContaining('one of'),
    });
    line.revoke(A, '2027-01-01');
    expect(line.refused(line.resolution(A)).error).toBe('winner_not_approved');
    const command = line.resolution(B);
    line.decide(command);
    expect(line.refused(command)).toMatchObject({ error: 'already_decided', path: 'conflict_id' });
    const unknown = { ...command, conflictId: 'terms.000000000000.c1' } as typeof command;
    expect(line.refused(unknown).error).toBe('unknown_conflict');
  });

  it('QO-12: with four eyes nobody decides a conflict in favour of his own proposal', () => {
    const line = contested();
    expect(line.refused(line.resolution(B, { fourEyes: 'bob' })).error).toBe('four_eyes_required');
    expect(kinds(line.decide(line.resolution(B, { fourEyes: 'ann' })))).toContain(
      'ConflictResolved',
    );
  });
});

describe('dismissing (O-33)', () => {
  it('leaves the claims as they are, and the same pair opens no conflict again', () => {
    const line = contested();
    expect(kinds(line.decide(line.dismissal()))).toEqual(['ConflictDismissed']);
    expect([...line.state.heads]).toEqual([A.decision_id, B.decision_id]);
    line.approve(C);
    const claims = line.state.openConflicts.get(line.conflict) ?? [];
    expect(claims).toEqual([A.decision_id, B.decision_id, C.decision_id]);
    // Without C nothing is left that contradicts.
    expect(kinds(line.revoke(C))).toEqual(['DecisionRevoked', 'ConflictResolved']);
  });

  it('takes along an older conflict about the same claims', () => {
    const line = contested();
    line.approve(C);
    const [, second] = [...line.state.openConflicts.keys()];
    const events = line.decide({
      type: 'DismissConflict',
      conflictId: second ?? '',
      reason: 'all three are meant',
      ...line.timing,
    });
    expect(kinds(events)).toEqual(['ConflictDismissed', 'ConflictDismissed']);
    expect(line.state.openConflicts.size).toBe(0);
  });
});

it('QO-14: says what would settle a conflict by its kind, its undated claims and who may decide', () => {
  expect(neededFor('same_scope', [{ id: 'x', dated: false }, { id: 'y', dated: true }], 'an admin')).toEqual([
    'a dated source that says from when x applies',
    'an approval by an admin that names which of x, y supersedes the others',
  ]); // prettier-ignore
  expect(neededFor('overlapping_scopes', [{ id: 'x', dated: true }, { id: 'y', dated: true }])).toEqual([
    'a source that states which scope prevails where those of x, y overlap, and an approval that rests on it',
  ]); // prettier-ignore
});
