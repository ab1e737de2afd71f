import { describe, expect, it } from '@jest/globals';
import { ERASED } from '#kernel/sealing.js';
import { Line, claim } from '../../../test/support/topic-line.js';
import { dataOf, heldFrom } from './topic-held.js';
import type { TopicCommand } from './topic.js';
import type { Proposed, TopicEvent } from './topic.events.js';

const [k1, k2] = ['k_1', 'k_2'] as [string, string];

const propose = (one: Proposed): TopicCommand => ({
  type: 'Propose',
  topic: 'terms',
  name: 'Terms',
  aliases: [],
  claim: one,
});

/** A line with an approved claim of each of two subjects, which contradict. */
function contested() {
  const line = new Line();
  const [a, b] = [claim(30, { keys: [k1] }), claim(60, { keys: [k2] })] as [Proposed, Proposed];
  const events = [a, b].flatMap((one) => [
    ...line.decide(propose(one)),
    ...line.decide({
      type: 'Approve',
      decisionId: one.decision_id,
      reason: 'agreed',
      ...line.timing,
    }),
  ]);
  return { line, a, b, events };
}

const keysIn = (events: readonly TopicEvent[]): Record<string, unknown> =>
  Object.fromEntries(events.map((e) => [e.type, (e.data as { keys?: string[] }).keys]));

/** A claim as it is folded once its key was destroyed. */
const gone = (one: Proposed): Proposed => ({
  ...one,
  statement: ERASED,
  value: ERASED,
  evidence: one.evidence.map((e) => ({ ...e, excerpt: ERASED })),
});

describe('B48: what is said of a decision', () => {
  it('is sealed with its keys, and of a conflict with those of all its claims', () => {
    const { line, a, events } = contested();
    const [first, second] = events.filter((e) => e.type === 'DecisionApproved');
    expect([first?.data.keys, second?.data.keys]).toEqual([[k1], [k2]]);
    const [conflict] = line.state.openConflicts.keys();
    const dismissed = line.decide({
      type: 'DismissConflict',
      conflictId: conflict ?? '',
      reason: 'both',
      ...line.timing,
    });
    expect(keysIn(dismissed)).toEqual({ ConflictDismissed: [k1, k2] });
    const revoked = line.decide({
      type: 'Revoke',
      decisionId: a.decision_id,
      reason: 'over',
      ...line.timing,
    });
    expect(keysIn(revoked)).toEqual({ DecisionRevoked: [k1] });
  });

  it('is sealed with the keys of a claim that is proposed and approved at once', () => {
    const line = new Line();
    const events = line.decide({
      ...propose(claim(30, { keys: [k1] })),
      approval: { reason: 'ingested', ...line.timing },
    } as TopicCommand);
    expect(keysIn(events)).toMatchObject({ DecisionProposed: [k1], DecisionApproved: [k1] });
  });

  it('has no keys where nothing is sealed', () => {
    const line = new Line();
    const one = claim(30);
    line.decide(propose(one));
    const [rejected] = line.decide({ type: 'Reject', decisionId: one.decision_id, reason: 'no' });
    expect(rejected?.data).toEqual({ decision_id: one.decision_id, reason: 'no' });
  });
});

describe('B48: a decision whose words were erased', () => {
  it('says the same as no other erased one: it confirms nothing', () => {
    const line = new Line();
    const [a, b] = [gone(claim(30)), gone(claim(60))] as [Proposed, Proposed];
    for (const one of [a, b]) line.decide(propose({ ...one, supersedes: [] }));
    const [held, other] = [...line.state.decisions.values()];
    expect(held?.meaning).not.toBe(other?.meaning);
  });

  it('is approved by nobody; it can be rejected', () => {
    const line = new Line();
    const one = gone(claim(30));
    line.decide(propose(one));
    const refusal = line.refused({
      type: 'Approve',
      decisionId: one.decision_id,
      reason: 'fine',
      ...line.timing,
    });
    expect(refusal.error).toBe('decision_erased');
    line.decide({ type: 'Reject', decisionId: one.decision_id, reason: 'nothing to read' });
    expect(line.state.decisions.get(one.decision_id)?.status).toBe('rejected');
  });

  it('stays in force, and what is new beside it opens a conflict', () => {
    const { line, a } = contested();
    const before = new Line();
    // The same stream, folded after the key of the first claim was destroyed.
    before.decide(propose(gone(a)));
    before.state.decisions.set(a.decision_id, {
      ...(line.state.decisions.get(a.decision_id) as never as object),
      meaning: before.state.decisions.get(a.decision_id)?.meaning,
    } as never);
    before.state.heads.add(a.decision_id);
    const same = claim(30, { statement: 'the same again', keys: [k2] });
    before.decide(propose(same));
    const events = before.decide({
      type: 'Approve',
      decisionId: same.decision_id,
      reason: 'agreed',
      ...before.timing,
    });
    expect(events.map((e) => e.type)).toEqual(['DecisionApproved', 'ConflictOpened']);
    expect(before.state.heads.has(a.decision_id)).toBe(true);
  });

  it('goes with a merge of its topic as what it is, without a key to seal it', () => {
    const line = new Line();
    line.decide(propose(gone(claim(30, { keys: [k1] }))));
    const [held] = [...line.state.decisions.values()];
    if (!held) throw new Error('no decision');
    const data = dataOf(held);
    expect(data.keys).toBeUndefined();
    expect(heldFrom(data).meaning).toBe(held.meaning);
    // And once that is erased too.
    expect(heldFrom({ ...data, meaning: ERASED }).meaning).toBe(held.meaning);
  });

  it('a readable one keeps its keys in a merge', () => {
    const line = new Line();
    line.decide(propose(claim(30, { keys: [k1] })));
    const [held] = [...line.state.decisions.values()];
    if (!held) throw new Error('no decision');
    expect(dataOf(held).keys).toEqual([k1]);
    expect(heldFrom(dataOf(held))).toMatchObject({ keys: [k1], meaning: held.meaning });
  });
});
