import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import { contentHash, decisionId } from './claim.js';
import { topicDecider, type TopicCommand } from './topic.js';
import type { Proposed, TopicEvent } from './topic.events.js';

const given = specification(topicDecider);
const NOW = Date.parse('2026-06-01T00:00:00Z');
const timing = { nowMs: NOW, toMs: (when: string) => Date.parse(when) };

function claim(statement: string, more: Partial<Proposed> = {}): Proposed {
  const said = {
    statement,
    scope: {},
    supersedes: [],
    relations: [],
    evidence: [{ source_id: 'src_1', excerpt: statement, start: 0, end: 9, verbatim: true }],
    ...more,
  };
  return {
    decision_id: decisionId('terms', said),
    content_hash: contentHash(said),
    reasons: ['awaiting_review'],
    proposed_by: 'ann',
    origin: 'job_1#0',
    ...said,
  };
}

const D1 = claim('net 30', { effective_from: '2024-01-01' });
const D2 = claim('net 60', { effective_from: '2026-03-01' });
const D3 = claim('net 90', { effective_from: '2026-05-01' });

const opened: TopicEvent = { type: 'TopicOpened', data: { topic: 'terms', name: 'terms' } };
const proposed = (c: Proposed): TopicEvent => ({ type: 'DecisionProposed', data: c });
const approved = (c: Proposed, supersedes: string[] = []): TopicEvent => ({
  type: 'DecisionApproved',
  data: {
    decision_id: c.decision_id,
    content_hash: c.content_hash,
    reason: 'agreed',
    ...(c.effective_from === undefined ? {} : { effective_from: c.effective_from }),
    starts_at: new Date(c.effective_from ?? NOW).toISOString(),
    supersedes,
  },
});
const superseded = (c: Proposed, by: Proposed): TopicEvent => ({
  type: 'DecisionSuperseded',
  data: {
    decision_id: c.decision_id,
    by: by.decision_id,
    ends_at: new Date(by.effective_from ?? NOW).toISOString(),
  },
});
const approve = (c: Proposed, more: Partial<Extract<TopicCommand, { type: 'Approve' }>> = {}) =>
  ({ type: 'Approve', decisionId: c.decision_id, reason: 'agreed', ...timing, ...more }) as const;
const propose = (c: Proposed, approval = false): TopicCommand => ({
  type: 'Propose',
  topic: 'terms',
  name: 'terms',
  aliases: [],
  claim: c,
  ...(approval ? { approval: { reason: 'agreed', ...timing } } : {}),
});

describe('proposing', () => {
  it('opens the topic with its first claim', () => {
    given().when(propose(D1)).then(opened, proposed(D1));
  });

  it('B15: the same claim again changes nothing', () => {
    given(opened, proposed(D1)).when(propose(D1)).then();
    given(opened, proposed(D1), approved(D1)).when(propose(D1, true)).then();
  });

  it('O-27: a decided record is proposed and approved in one append', () => {
    given().when(propose(D1, true)).then(opened, proposed(D1), approved(D1));
  });

  it('approves the candidate that an earlier ingestion left, when the record comes decided', () => {
    given(opened, proposed(D1)).when(propose(D1, true)).then(approved(D1));
  });

  it('B08: refuses a target that does not exist, and itself', () => {
    given(opened)
      .when(propose(claim('x', { supersedes: ['terms.000000000000'] })))
      .thenRefused('unknown_target');
    const self = { ...D1, supersedes: [D1.decision_id] };
    given(opened, proposed(D1)).when(propose(self)).thenRefused('supersession_cycle');
  });

  it('B08: refuses to close a ring of three and names its members', () => {
    const b = { ...D2, supersedes: [D1.decision_id] };
    const c = { ...D3, supersedes: [D2.decision_id] };
    const ring = given(opened, proposed(D1), approved(D1), proposed(b), proposed(c))
      .when(propose({ ...D1, supersedes: [D3.decision_id] }))
      .thenRefused('supersession_cycle');
    expect(ring.issues.map((i) => i.problem)).toEqual(
      expect.arrayContaining([D1.decision_id, D2.decision_id, D3.decision_id]),
    );
  });
});

describe('approving', () => {
  it('O-31, B07: with a stated successor the old head ends in the same append', () => {
    const successor = { ...D2, supersedes: [D1.decision_id] };
    given(opened, proposed(D1), approved(D1), proposed(successor))
      .when(approve(successor))
      .then(approved(successor, [D1.decision_id]), superseded(D1, D2));
  });

  it('QO-10, B13: without one, two different heads open a conflict that says what would settle it', () => {
    given(opened, proposed(D1), approved(D1), proposed(D2))
      .when(approve(D2))
      .thenMatches((events) => {
        expect(events.map((e) => e.type)).toEqual(['DecisionApproved', 'ConflictOpened']);
        expect(events[1]?.data).toMatchObject({
          kind: 'same_scope',
          claims: [D1.decision_id, D2.decision_id],
        });
      });
  });

  it('QO-3: a strict exception is no conflict, a crossing scope is', () => {
    const team = claim('net 45', { scope: { team: 'a' } });
    const region = claim('net 50', { scope: { region: 'eu' } });
    given(opened, proposed(D1), approved(D1), proposed(team))
      .when(approve(team))
      .thenMatches((events) => {
        expect(events).toHaveLength(1);
      });
    given(opened, proposed(team), approved(team), proposed(region))
      .when(approve(region))
      .thenMatches((events) => {
        expect(events[1]?.data).toMatchObject({ kind: 'overlapping_scopes' });
      });
  });

  it('QO-24: bounded validity that does not overlap is no conflict', () => {
    const old = claim('net 10', { effective_from: '2020-01-01', effective_to: '2024-01-01' });
    given(opened, proposed(D1), approved(D1), proposed(old))
      .when(approve(old))
      .thenMatches((events) => {
        expect(events.map((e) => e.type)).toEqual(['DecisionApproved']);
      });
  });

  it('QO-24: the same value again is a confirmation, not a new head', () => {
    const again = claim('NET  30', { effective_from: '2024-01-01' });
    given(opened, proposed(D1), approved(D1), proposed(again))
      .when(approve(again))
      .then({
        type: 'DecisionConfirmed',
        data: { decision_id: D1.decision_id, by: again.decision_id, reason: 'agreed' },
      });
  });

  it('B09: of two successors of one decision the second is told of the new head', () => {
    const second = { ...D3, supersedes: [D1.decision_id] };
    const refusal =
      given(
      opened, proposed(D1), approved(D1), proposed(D2), proposed(second),
      approved(D2, [D1.decision_id]), superseded(D1, D2),
    ) // prettier-ignore
        .when(approve(second))
        .thenRefused('head_moved');
    expect(refusal.issues[0]?.problem).toContain(D2.decision_id);
  });

  it('B06: history recorded late goes before its successor', () => {
    given(opened, proposed(D2), approved(D2), proposed(D1))
      .when(approve(D1, { supersededBy: D2.decision_id }))
      .then(approved(D1), superseded(D1, D2));
  });

  it('B43: refuses when the candidate is not what was inspected', () => {
    given(opened, proposed(D1))
      .when(approve(D1, { contentHash: 'f'.repeat(64) }))
      .thenRefused('stale_revision');
    given(opened, proposed(D1))
      .when(approve(D1, { contentHash: D1.content_hash }))
      .then(approved(D1));
  });

  it.each(['Reject', 'Retract', 'Revoke'] as const)(
    'B43: refuses to %s what is not what was inspected',
    (type) => {
      const ending = { type, decisionId: D1.decision_id, reason: 'no', ...timing };
      const history =
        type === 'Revoke' ? [opened, proposed(D1), approved(D1)] : [opened, proposed(D1)];
      given(...history)
        .when({ ...ending, contentHash: 'f'.repeat(64) })
        .thenRefused('stale_revision');
      given(...history)
        .when({ ...ending, contentHash: D1.content_hash })
        .thenMatches((events) => {
          expect(events).toHaveLength(1);
        });
    },
  );

  it('O-32: a second approval is refused and says how to go on', () => {
    const refusal = given(opened, proposed(D1), approved(D1))
      .when(approve(D1))
      .thenRefused('already_decided');
    expect(refusal).toMatchObject({ path: 'decision_id', fix: expect.stringContaining('revoke') });
  });

  it('refuses an end that is not after the start', () => {
    given(opened, proposed(D1))
      .when(approve(D1, { effectiveTo: '2024-01-01' }))
      .thenRefused('invalid_arguments');
  });

  it('QO-10: a successor of both sides settles their conflict', () => {
    const both = claim('net 45', { supersedes: [D1.decision_id, D2.decision_id] });
    const conflict: TopicEvent = {
      type: 'ConflictOpened',
      data: {
        conflict_id: `${D2.decision_id}.c1`,
        kind: 'same_scope',
        claims: [D1.decision_id, D2.decision_id],
        would_be_resolved_by: [],
      },
    };
    given(opened, proposed(D1), approved(D1), proposed(D2), approved(D2), conflict, proposed(both))
      .when(approve(both))
      .thenMatches((events) => {
        expect(events.map((e) => e.type)).toEqual([
          'DecisionApproved', 'DecisionSuperseded', 'DecisionSuperseded', 'ConflictResolved',
        ]); // prettier-ignore
        expect(events[3]?.data).toMatchObject({ winner: both.decision_id });
      });
  });
});

describe('ending', () => {
  const revoke = {
    type: 'Revoke',
    decisionId: D1.decision_id,
    reason: 'withdrawn',
    ...timing,
  } as const;

  it('QO-27: revocation ends an approved decision from the given time', () => {
    given(opened, proposed(D1), approved(D1))
      .when({ ...revoke, from: '2026-07-01' })
      .then({
        type: 'DecisionRevoked',
        data: {
          decision_id: D1.decision_id,
          reason: 'withdrawn',
          ends_at: '2026-07-01T00:00:00.000Z',
        },
      });
  });

  it('O-32: a candidate cannot be revoked, an approved decision not be rejected or retracted', () => {
    given(opened, proposed(D1)).when(revoke).thenRefused('not_approved');
    given(opened, proposed(D1), approved(D1))
      .when({ type: 'Reject', decisionId: D1.decision_id, reason: 'no' })
      .thenRefused('already_decided');
    given(opened, proposed(D1), approved(D1))
      .when({ type: 'Retract', decisionId: D1.decision_id, reason: 'no' })
      .thenRefused('already_decided');
  });

  it('a decision that does not exist is refused without a hint of others', () => {
    given(opened).when(revoke).thenRefused('unknown_decision');
  });

  it('revoking one side of a conflict leaves the other as its winner', () => {
    const conflict: TopicEvent = {
      type: 'ConflictOpened',
      data: {
        conflict_id: 'c1',
        kind: 'same_scope',
        claims: [D1.decision_id, D2.decision_id],
        would_be_resolved_by: [],
      },
    };
    given(opened, proposed(D1), approved(D1), proposed(D2), approved(D2), conflict)
      .when(revoke)
      .thenMatches((events) => {
        expect(events[1]).toMatchObject({
          type: 'ConflictResolved',
          data: { winner: D2.decision_id },
        });
      });
  });
});
