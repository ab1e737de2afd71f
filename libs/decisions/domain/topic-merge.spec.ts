import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import { topicDecider, type TopicCommand } from './topic.js';
import { idInLine } from './topic-merge.js';
import type { Succession, Topic } from './topic-state.js';
import type { Proposed, TopicEvent } from './topic.events.js';

const given = specification(topicDecider);
const toMs = (when: string): number => Date.parse(when);
const NOW = Date.parse('2026-06-01');

function claim(id: string, value: number, scope: Record<string, string> = {}): Proposed {
  return {
    decision_id: id,
    statement: `it is ${value}`,
    value,
    scope,
    supersedes: [],
    relations: [],
    evidence: [],
    content_hash: `hash of ${id}`,
    reasons: [],
    proposed_by: 'ann',
    origin: 'job#0',
  };
}

interface Told {
  id: string;
  value: number;
  from?: string;
  to?: string;
  scope?: Record<string, string>;
  candidate?: boolean;
}

function fold(events: readonly TopicEvent[]): Topic {
  return events.reduce((s, e) => topicDecider.evolve(s, e, 0), topicDecider.initial());
}

/** The events of a topic in which these were proposed and, unless they are candidates, approved. */
function topic(name: string, ...told: Told[]): TopicEvent[] {
  const events: TopicEvent[] = [];
  for (const { id, value, from, to, scope, candidate } of told)
    events.push(
      ...topicDecider.decide(
        {
          type: 'Propose',
          topic: name,
          name,
          aliases: [`alias of ${name}`],
          claim: claim(id, value, scope),
          ...(candidate
            ? {}
            : {
                approval: {
                  reason: 'agreed',
                  effectiveFrom: from,
                  effectiveTo: to,
                  nowMs: NOW,
                  toMs,
                },
              }),
        },
        fold(events),
      ),
    );
  return events;
}

function absorb(from: readonly TopicEvent[], succession: Succession = 'stated'): TopicCommand {
  return {
    type: 'Absorb',
    topic: 'b',
    name: 'B',
    merged: 'a',
    from: fold(from),
    succession,
    nowMs: NOW,
  };
}

/** Everything after the absorption itself. */
function consequences(
  a: readonly TopicEvent[],
  b: readonly TopicEvent[],
  succession?: Succession,
): TopicEvent[] {
  const [first, ...rest] = topicDecider.decide(absorb(a, succession), fold(b));
  expect(first?.type).toBe('TopicAbsorbed');
  return rest;
}

const A1 = 'a.000000000001';
const A2 = 'a.000000000002';
const B1 = 'b.000000000001';

describe('a merged topic', () => {
  const merged: TopicEvent[] = [
    ...topic('a', { id: A1, value: 1 }),
    { type: 'TopicMerged', data: { topic: 'a', into: 'b', ontology_version: 2 } },
  ];

  it('is closed once, and refuses all else with the name of the one it went into', () => {
    given(...topic('a', { id: A1, value: 1 }))
      .when({ type: 'Merge', topic: 'a', into: 'b', ontologyVersion: 2 })
      .then({ type: 'TopicMerged', data: { topic: 'a', into: 'b', ontology_version: 2 } });
    given(...merged)
      .when({ type: 'Merge', topic: 'a', into: 'b', ontologyVersion: 2 })
      .then();
    const commands: TopicCommand[] = [
      { type: 'Propose', topic: 'a', name: 'a', aliases: [], claim: claim(A2, 2) },
      { type: 'Approve', decisionId: A1, reason: 'x', nowMs: NOW, toMs },
      { type: 'Revoke', decisionId: A1, reason: 'x', nowMs: NOW, toMs },
      { type: 'Reject', decisionId: A1, reason: 'x' },
    ];
    for (const command of commands) {
      const refusal = given(...merged)
        .when(command)
        .thenRefused('topic_merged');
      expect(refusal.fix).toBe('name b');
    }
  });

  it('may be one that no record ever opened', () => {
    given()
      .when({ type: 'Merge', topic: 'a', into: 'b', ontologyVersion: 1 })
      .thenMatches((events) => {
        expect(events.map((e) => e.type)).toEqual(['TopicMerged']);
      });
  });
});

describe('absorbing', () => {
  it('carries every decision as it stands: the state afterwards is as if all had happened here', () => {
    const a = topic(
      'a',
      { id: A1, value: 1, from: '2024-01-01', to: '2025-01-01' },
      { id: A2, value: 2, candidate: true },
      { id: 'a.000000000003', value: 3, from: '2025-01-01' },
      { id: 'a.000000000004', value: 3, from: '2025-02-01' },
      { id: 'a.000000000005', value: 5, scope: { team: 'x' } },
    );
    const ended = [
      ...a,
      ...topicDecider.decide(
        { type: 'Revoke', decisionId: 'a.000000000005', reason: 'r', nowMs: NOW, toMs },
        fold(a),
      ),
    ];
    const before = fold(ended);
    const events = topicDecider.decide(absorb(ended), topicDecider.initial());
    expect(events.map((e) => e.type)).toEqual(['TopicOpened', 'TopicAbsorbed']);
    const after = fold(events);
    expect([...after.decisions.values()]).toEqual([...before.decisions.values()]);
    expect(after.heads).toEqual(before.heads);
    expect(after.ended).toEqual(before.ended);
    expect(after.aliases).toEqual(before.aliases);
    given(...events)
      .when(absorb(ended))
      .then();
  });

  it('many decisions come in parts that count only together; cut short it goes on where it was', () => {
    const many = topic(
      'a',
      ...Array.from({ length: 400 }, (_, i) => ({
        id: `a.${String(i).padStart(12, '0')}`,
        value: i,
        scope: { name: `${i}${'x'.repeat(1_500)}` },
      })),
    );
    let state = topicDecider.initial();
    let parts = 0;
    while (!state.absorbed.has('a')) {
      expect(state.decisions.size).toBe(0);
      const events = topicDecider.decide(absorb(many), state);
      expect(Buffer.byteLength(JSON.stringify(events))).toBeLessThan(900_000);
      state = events.reduce((s, e) => topicDecider.evolve(s, e, 0), state);
      parts += 1;
    }
    expect([state.decisions.size, state.heads.size, state.absorbing.size]).toEqual([400, 400, 0]);
    expect(parts).toBeGreaterThan(1);
    process.stdout.write(`400 decisions absorbed in ${parts} parts\n`);
  });

  it('heads that disagree open a conflict; scopes that do not meet and exceptions do not', () => {
    const b = topic('b', { id: B1, value: 9 });
    expect(consequences(topic('a', { id: A1, value: 1 }), b)).toMatchObject([
      { type: 'ConflictOpened', data: { kind: 'same_scope', claims: [B1, A1] } },
    ]);
    expect(consequences(topic('a', { id: A1, value: 1, scope: { team: 'x' } }), b)).toEqual([]);
    expect(
      consequences(topic('a', { id: A1, value: 1, to: '2020-01-01', from: '2019-01-01' }), b),
    ).toEqual([]);
  });

  it('an open conflict of the merged topic stays open under its id, and none is opened twice', () => {
    const a = topic('a', { id: A1, value: 1 }, { id: A2, value: 2 });
    const [conflict] = [...fold(a).openConflicts.keys()];
    const b = topic('b', { id: B1, value: 9, scope: { team: 'x' } });
    const events = topicDecider.decide(absorb(a), fold(b));
    expect(events.map((e) => e.type)).toEqual(['TopicAbsorbed']);
    given(...b, ...events)
      .when({
        type: 'ResolveConflict',
        conflictId: conflict ?? '',
        winner: A1,
        reason: 'r',
        nowMs: NOW,
      })
      .thenMatches((done) => {
        expect(done.map((e) => e.type)).toEqual(['DecisionSuperseded', 'ConflictResolved']);
      });
  });

  it('what was found compatible stays so', () => {
    const a = topic('a', { id: A1, value: 1 }, { id: A2, value: 2 });
    const [conflictId = ''] = fold(a).openConflicts.keys();
    const dismissed = [
      ...a,
      ...topicDecider.decide(
        { type: 'DismissConflict', conflictId, reason: 'both hold', nowMs: NOW },
        fold(a),
      ),
    ];
    const after = fold(topicDecider.decide(absorb(dismissed), topicDecider.initial()));
    expect(after.compatible).toEqual(fold(dismissed).compatible);
    expect(after.closedConflicts.get(conflictId)).toBe('dismissed');
  });

  it.each<[string, Partial<Told>, Partial<Told>, string, string, string]>([
    [
      'what began later adds nothing',
      { from: '2024-01-01' },
      { from: '2025-01-01' },
      B1,
      A1,
      '2025-01-01',
    ],
    [
      'wherever it comes from',
      { from: '2025-01-01' },
      { from: '2024-01-01' },
      A1,
      B1,
      '2025-01-01',
    ],
    [
      'what reaches further goes on',
      { from: '2024-01-01', to: '2025-06-01' },
      { from: '2025-01-01' },
      A1,
      B1,
      '2025-01-01',
    ],
  ])('QO-24: heads that say the same become one line: %s', (_what, a, b, ended, by, at) => {
    expect(
      consequences(topic('a', { id: A1, value: 1, ...a }), topic('b', { id: B1, value: 1, ...b })),
    ).toMatchObject([
      {
        type: 'DecisionSuperseded',
        data: { decision_id: ended, by, ends_at: `${at}T00:00:00.000Z` },
      },
    ]);
  });

  it('QO-24: by_effective_date the later one replaces the earlier one, whichever topic it comes from', () => {
    const [older, newer] = [
      { value: 1, from: '2024-01-01' },
      { value: 2, from: '2025-01-01' },
    ];
    expect(
      consequences(
        topic('a', { id: A1, ...older }),
        topic('b', { id: B1, ...newer }),
        'by_effective_date',
      ),
    ).toMatchObject([{ type: 'DecisionSuperseded', data: { decision_id: A1, by: B1 } }]);
    expect(
      consequences(
        topic('a', { id: A1, ...newer }),
        topic('b', { id: B1, ...older }),
        'by_effective_date',
      ),
    ).toMatchObject([{ type: 'DecisionSuperseded', data: { decision_id: B1, by: A1 } }]);
    expect(
      consequences(
        topic('a', { id: A1, ...newer, from: older.from }),
        topic('b', { id: B1, ...older }),
        'by_effective_date',
      ),
    ).toMatchObject([{ type: 'ConflictOpened' }]);
  });

  it('a claim that stands already under the merged topic’s name is recognised', () => {
    const state = fold([
      ...topic('b', { id: B1, value: 9 }),
      ...topicDecider.decide(
        absorb(topic('a', { id: A2, value: 2, scope: { team: 'x' } })),
        fold(topic('b', { id: B1, value: 9 })),
      ),
    ]);
    expect(idInLine(state, 'b', 'b.000000000002')).toBe(A2);
    expect(idInLine(state, 'b', B1)).toBe(B1);
    expect(idInLine(state, 'b', 'a.000000000001')).toBe(B1);
    expect(idInLine(state, 'b', 'b.00000000000f')).toBe('b.00000000000f');
  });
});
