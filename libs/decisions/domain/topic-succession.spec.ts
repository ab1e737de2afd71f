import { describe, expect, it } from '@jest/globals';
import { Line, claim } from '../../../test/support/topic-line.js';
import type { TopicEvent } from './topic.events.js';

const kinds = (events: readonly TopicEvent[]): string[] => events.map((e) => e.type);
const from = (value: string | number, effective_from: string, effective_to?: string) =>
  claim(value, { effective_from, ...(effective_to === undefined ? {} : { effective_to }) });

describe('succession by effective date (QO-24)', () => {
  const byDate = () => new Line('2026-06-01', { succession: 'by_effective_date' });
  const A = from('net 30', '2024-01-01');
  const B = from('net 60', '2026-03-01');

  it('B06: the order of approval changes nothing', () => {
    const [forth, back] = [byDate(), byDate()];
    for (const one of [A, B]) forth.approve(one);
    for (const one of [B, A]) back.approve(one);
    const expected = {
      'net 30': 'superseded 2024-01-01 2026-03-01',
      'net 60': 'approved 2026-03-01 …',
    };
    expect(forth.spans()).toEqual(expected);
    expect(back.spans()).toEqual(expected);
    expect(back.state.openConflicts.size).toBe(0);
  });

  it('one in between takes its time from the one before', () => {
    const line = byDate();
    line.approve(A);
    line.approve(B);
    line.approve(from('net 45', '2025-01-01'));
    expect(line.spans()).toEqual({
      'net 30': 'superseded 2024-01-01 2025-01-01',
      'net 45': 'superseded 2025-01-01 2026-03-01',
      'net 60': 'approved 2026-03-01 …',
    });
  });

  it('the same date is a conflict: nothing says which is later', () => {
    const line = byDate();
    line.approve(B);
    expect(kinds(line.approve(from('net 90', '2026-03-01')))).toEqual([
      'DecisionApproved',
      'ConflictOpened',
    ]);
  });

  it('another scope is another line', () => {
    const line = byDate();
    line.approve(A);
    line.approve(claim('net 10', { effective_from: '2025-01-01', scope: { team: 'x' } }));
    expect(line.spans()).toMatchObject({
      'net 30': 'approved 2024-01-01 …',
      'net 10': 'approved 2025-01-01 …',
    });
  });

  it('a value that comes back is a new decision, not a confirmation of the old one', () => {
    const line = byDate();
    line.approve(A);
    line.approve(B);
    const again = from('net 30', '2026-05-01');
    expect(kinds(line.approve(again))).toEqual(['DecisionApproved', 'DecisionSuperseded']);
    expect([...line.state.heads]).toEqual([again.decision_id]);
  });

  it('without it the same two open a conflict', () => {
    const line = new Line();
    line.approve(A);
    expect(kinds(line.approve(B))).toContain('ConflictOpened');
  });
});

describe('saying the same again (QO-24)', () => {
  const head = from('net 30', '2024-01-01', '2026-01-01');

  it('within the head’s time it confirms', () => {
    const line = new Line();
    line.approve(head);
    expect(kinds(line.approve(from('net 30', '2024-06-01', '2025-01-01')))).toEqual([
      'DecisionConfirmed',
    ]);
  });

  it('one that holds longer goes on where the head ends: no time is lost, and there is one head', () => {
    const line = new Line();
    line.approve(head);
    const longer = from('net 30', '2025-01-01');
    expect(kinds(line.approve(longer))).toEqual(['DecisionApproved', 'DecisionSuperseded']);
    expect([...line.state.heads]).toEqual([longer.decision_id]);
    const spans = [...line.state.decisions.values()].map((d) => 'endMs' in d && d.endMs);
    expect(spans).toEqual([Date.parse('2025-01-01'), 8_640_000_000_000_000]);
  });

  it('one that began earlier goes before the head', () => {
    const line = new Line();
    line.approve(from('net 30', '2024-01-01'));
    const earlier = from('net 30', '2020-01-01');
    expect(kinds(line.approve(earlier))).toEqual(['DecisionApproved', 'DecisionSuperseded']);
    expect(line.state.decisions.get(earlier.decision_id)).toMatchObject({
      status: 'superseded',
      endMs: Date.parse('2024-01-01'),
    });
  });

  it('what it states to replace is replaced by the head that it confirms', () => {
    const line = new Line();
    const [a, b] = [from('net 30', '2024-01-01'), from('net 60', '2024-01-01')];
    line.approve(a);
    line.approve(b);
    const again = claim('net 30', { effective_from: '2025-01-01' });
    const events = line.approve(again, { supersedes: [b.decision_id] });
    expect(kinds(events)).toEqual(['DecisionConfirmed', 'DecisionSuperseded', 'ConflictResolved']);
    expect(events[1]?.data).toMatchObject({ decision_id: b.decision_id, by: a.decision_id });
    expect(events[2]?.data).toMatchObject({ winner: a.decision_id });
    expect([...line.state.heads]).toEqual([a.decision_id]);
  });
});

describe('superseding what has an end to come (QO-10, QO-24)', () => {
  const A = from('net 30', '2024-01-01');
  const LATER = from('net 60', '2028-01-01');
  const NEW = from('net 45', '2026-11-01');
  const ending = { supersedes: [A.decision_id] };

  it('QO-10, ADR 19: one that was revoked from a later time on gives way to its successor, and nothing is contested', () => {
    const line = new Line();
    line.approve(A);
    line.revoke(A, '2028-01-01');
    expect(kinds(line.approve(NEW, ending))).toEqual(['DecisionApproved', 'DecisionSuperseded']);
    expect(line.spans()).toEqual({
      'net 30': 'revoked 2024-01-01 2026-11-01',
      'net 45': 'approved 2026-11-01 …',
    });
  });

  it('QO-24: two successors of one decision that both go on are a conflict: none is ranked', () => {
    const line = new Line();
    line.approve(A);
    line.approve(LATER, ending);
    expect(kinds(line.approve(NEW, ending))).toEqual([
      'DecisionApproved',
      'DecisionSuperseded',
      'ConflictOpened',
    ]);
    expect(line.spans()).toMatchObject({ 'net 30': 'superseded 2024-01-01 2026-11-01' });
    expect(line.state.openConflicts.get(line.conflict)).toEqual([
      LATER.decision_id,
      NEW.decision_id,
    ]);
  });

  it('B09: one that goes before the known successor is no rival of it', () => {
    const line = new Line();
    line.approve(A);
    line.approve(LATER, ending);
    line.approve(NEW, { ...ending, supersededBy: LATER.decision_id });
    expect(line.spans()).toEqual({
      'net 30': 'superseded 2024-01-01 2026-11-01',
      'net 45': 'superseded 2026-11-01 2028-01-01',
      'net 60': 'approved 2028-01-01 …',
    });
    expect(line.state.openConflicts.size).toBe(0);
  });

  it.each([
    ['revoked', 'not_approved'],
    ['superseded', 'head_moved'],
  ])(
    'B09: of one that is %s nothing is left for a later start, and it is said until when it holds',
    (how, error) => {
      const line = new Line();
      line.approve(A);
      if (how === 'revoked') line.revoke(A, '2028-01-01');
      else line.approve(LATER, ending);
      const late = from('net 45', '2028-01-01', '2029-01-01');
      line.propose(late);
      const refusal = line.refused(line.approval(late, ending));
      expect(refusal.error).toBe(error);
      expect(refusal.message).toContain('it holds until 2028-01-01T00:00:00.000Z');
    },
  );

  it('ADR 19: what lies behind is history, and is not made shorter by a successor that began earlier', () => {
    const line = new Line();
    line.approve(A);
    line.approve(from('net 60', '2026-01-01'), ending);
    const earlier = from('net 45', '2025-01-01');
    line.propose(earlier);
    const refusal = line.refused(line.approval(earlier, ending));
    expect(refusal.error).toBe('head_moved');
    expect(refusal.message).toContain('it held until 2026-01-01T00:00:00.000Z');
  });
});

describe('review', () => {
  const rev1 = claim('net 30', { document: 'adr/0001.md', effective_from: '2024-01-01' });
  const rev2 = claim('net 45', { document: 'adr/0001.md', effective_from: '2025-01-01' });

  it('B43: a document changed while it waits: the old tab cannot approve, and is told what changed', () => {
    const line = new Line();
    line.propose(rev1);
    expect(kinds(line.propose(rev2))).toEqual(['DecisionRetracted', 'DecisionProposed']);
    const stale = line.refused(line.approval(rev1, { contentHash: rev1.content_hash }));
    expect(stale).toMatchObject({
      kind: 'conflict',
      error: 'stale_revision',
      path: 'content_hash',
    });
    expect(stale.issues).toEqual([
      { path: 'content_hash', problem: `the candidate has the hash ${rev2.content_hash}` },
      { path: 'statement or value', problem: 'differs from what was inspected' },
      { path: 'effective_from', problem: 'was "2024-01-01", is "2025-01-01"' },
    ]);
    expect(stale.fix).toContain(rev2.decision_id);
    const mixed = line.refused(line.approval(rev2, { contentHash: rev1.content_hash }));
    expect(mixed.issues).toHaveLength(3);
    line.decide(line.approval(rev2, { contentHash: rev2.content_hash }));
    expect([...line.state.heads]).toEqual([rev2.decision_id]);
  });

  it('B43: nobody takes away another’s candidate by handing in its document', () => {
    const line = new Line();
    line.propose(rev1);
    expect(kinds(line.propose({ ...rev2, proposed_by: 'mallory' }))).toEqual(['DecisionProposed']);
  });

  it('QO-12: with four eyes the proposer cannot approve, whoever else can', () => {
    const line = new Line();
    line.propose(rev1);
    expect(line.refused(line.approval(rev1, { fourEyes: 'ann' })).error).toBe('four_eyes_required');
    expect(kinds(line.decide(line.approval(rev1, { fourEyes: 'bob' })))).toEqual([
      'DecisionApproved',
    ]);
  });

  it('B08: a ring names exactly its members', () => {
    const line = new Line();
    const a = claim('a', { effective_from: '2024-01-01' });
    const b = claim('b', { supersedes: [a.decision_id] });
    const other = claim('other', { scope: { team: 'x' } });
    line.approve(a);
    line.approve(other);
    line.propose(b);
    const c = claim('c', { supersedes: [b.decision_id, other.decision_id] });
    line.propose(c);
    const ring = line.refused({
      type: 'Propose',
      topic: 'terms',
      name: 'terms',
      aliases: [],
      claim: { ...a, supersedes: [c.decision_id] },
    });
    expect(ring.error).toBe('supersession_cycle');
    expect(ring.issues.map((i) => i.problem).sort()).toEqual(
      [a, b, c].map((x) => x.decision_id).sort(),
    );
  });
});
