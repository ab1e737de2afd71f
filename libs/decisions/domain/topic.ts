import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { BEGINNING } from '#kernel/time.js';
import { documentKeyOf } from './claim.js';
import { decideConflict, type ConflictCommand } from './topic-conflict.js';
import { decideMerge, evolveTopic, refuseMerged, type MergeCommand } from './topic-merge.js';
import { withKeys } from './topic-keys.js';
import { assertInspected, ring, staleRevision, unknownTarget } from './topic-refusals.js';
import { revoke } from './topic-revocation.js';
import { approve } from './topic-succession.js';
import { heldOf, type Approval, type Decision, type Timing, type Topic } from './topic-state.js';
import type { Proposed, TopicEvent } from './topic.events.js';

export type TopicCommand =
  | {
      type: 'Propose';
      topic: string;
      name: string;
      aliases: readonly string[];
      claim: Proposed;
      /** Present where a governor brings a decided record: proposed and approved in one append. */
      approval?: Omit<Approval, 'decisionId'>;
    }
  | ({ type: 'Approve' } & Approval)
  | ({ type: 'Reject' | 'Retract' } & Ending)
  | ({
      type: 'Revoke';
      from?: string | undefined;
      /** The principal who revokes, where the organisation wants four eyes: no conflict ends in favour of what he proposed. */
      fourEyes?: string | undefined;
    } & Ending &
      Timing)
  | ConflictCommand
  | MergeCommand;

interface Ending {
  decisionId: string;
  reason: string;
  /** Of the decision as the reviewer inspected it. */
  contentHash?: string | undefined;
}

function decide(command: TopicCommand, topic: Topic): TopicEvent[] {
  const arriving = command.type === 'Absorb' ? command.from.decisions : undefined;
  return withKeys(decided(command, topic), topic, arriving);
}

function decided(command: TopicCommand, topic: Topic): TopicEvent[] {
  if (command.type !== 'Merge') refuseMerged(topic);
  switch (command.type) {
    case 'Propose':
      return propose(command, topic);
    case 'Approve':
      return approve(command, topic, candidate(topic, command.decisionId, 'approved', command));
    case 'Reject': {
      const { id } = inspected(topic, candidate(topic, command.decisionId, 'rejected'), command);
      return [{ type: 'DecisionRejected', data: { decision_id: id, reason: command.reason } }];
    }
    case 'Retract': {
      const { id } = inspected(topic, candidate(topic, command.decisionId, 'retracted'), command);
      return [{ type: 'DecisionRetracted', data: { decision_id: id, reason: command.reason } }];
    }
    case 'Revoke':
      return revoke(command, topic, inspected(topic, known(topic, command.decisionId), command));
    case 'ResolveConflict':
    case 'DismissConflict':
      return decideConflict(command, topic);
    case 'Merge':
    case 'Absorb':
      return decideMerge(command, topic);
    default:
      return unreachable(command);
  }
}

function inspected(topic: Topic, decision: Decision, { contentHash }: Ending): Decision {
  assertInspected(topic, decision, contentHash);
  return decision;
}

function propose(command: Extract<TopicCommand, { type: 'Propose' }>, topic: Topic): TopicEvent[] {
  const { claim, approval } = command;
  const naming = name(command, topic);
  const held = topic.decisions.get(claim.decision_id);
  refuseRing(claim, topic);
  if (!held) {
    const proposed: TopicEvent = { type: 'DecisionProposed', data: claim };
    const approved = approval
      ? approve({ ...approval, decisionId: claim.decision_id }, topic, heldOf(claim))
      : [];
    return [...naming, ...replaced(claim, topic), proposed, ...approved];
  }
  // Known already. A record that is decided now approves the candidate it was; anything else changes nothing.
  if (held.status === 'candidate' && approval)
    return [
      ...naming,
      ...approve(
        {
          ...approval,
          decisionId: held.id,
          supersedes: claim.supersedes.length > 0 ? claim.supersedes : held.supersedes,
        },
        topic,
        held,
      ),
    ];
  return naming;
}

function name(
  { topic: id, name: title, aliases }: Extract<TopicCommand, { type: 'Propose' }>,
  topic: Topic,
): TopicEvent[] {
  const fresh = [...new Set(aliases)].filter((alias) => !topic.aliases.has(alias));
  return [
    ...(topic.status === 'absent'
      ? [{ type: 'TopicOpened', data: { topic: id, name: title } } as const]
      : []),
    ...(fresh.length > 0
      ? [{ type: 'TopicAliased', data: { topic: id, aliases: fresh } } as const]
      : []),
  ];
}

/** B43: a document that its proposer changed while it waited. What was inspected of it before cannot be approved any more. */
function replaced(claim: Proposed, topic: Topic): TopicEvent[] {
  const key = documentKeyOf(claim);
  if (key === undefined) return [];
  return [...topic.decisions.values()]
    .filter((d) => d.status === 'candidate' && d.documentKey === key)
    .filter((d) => d.proposedBy === claim.proposed_by)
    .map(({ id: decision_id }) => ({
      type: 'DecisionRetracted',
      data: {
        decision_id,
        reason: `its document was changed; ${claim.decision_id} takes its place`,
        replaced_by: claim.decision_id,
      },
    }));
}

/** Succession is stated among decisions that exist and never comes back to where it began (B08). */
function refuseRing(claim: Proposed, topic: Topic): void {
  for (const target of claim.supersedes) {
    if (target === claim.decision_id) throw ring([target]);
    if (!topic.decisions.has(target)) throw unknownTarget(target);
    const members = wayBack(topic, target, claim.decision_id);
    if (members) throw ring([claim.decision_id, ...members]);
  }
}

/** The links from `start` that lead to `end`, `end` left out; undefined where none do. */
function wayBack(topic: Topic, start: string, end: string): string[] | undefined {
  if (!topic.decisions.has(end)) return undefined;
  const from = new Map<string, string | undefined>([[start, undefined]]);
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === end) {
      const members: string[] = [];
      for (let step = from.get(at); step !== undefined; step = from.get(step))
        members.unshift(step);
      return members;
    }
    for (const next of topic.decisions.get(at)?.supersedes ?? [])
      if (!from.has(next)) {
        from.set(next, at);
        open.push(next);
      }
  }
  return undefined;
}

function known(topic: Topic, id: string): Decision {
  const decision = topic.decisions.get(id);
  if (decision) return decision;
  throw new Refusal('not_found', 'unknown_decision', `no decision ${id}`, {
    path: 'decision_id',
    issues: [{ path: 'decision_id', problem: 'is no decision of this workspace' }],
    fix: 'take an id from list_pending_decisions or get_decision_history',
  });
}

function candidate(
  topic: Topic,
  id: string,
  wanted: string,
  inspected: { contentHash?: string | undefined } = {},
): Decision {
  const decision = known(topic, id);
  if (decision.status === 'candidate') return decision;
  const newer = decision.status === 'retracted' ? decision.replacedBy : undefined;
  if (newer !== undefined)
    throw staleRevision(topic, inspected.contentHash ?? decision.contentHash, known(topic, newer));
  throw new Refusal(
    'conflict',
    'already_decided',
    `${id} is ${decision.status} already, so it cannot be ${wanted}`,
    {
      path: 'decision_id',
      issues: [{ path: 'decision_id', problem: `its state is ${decision.status}, not candidate` }],
      fix:
        decision.status === 'approved'
          ? 'to end an approved decision, revoke it or approve a successor that supersedes it'
          : 'to propose it again, ingest it with a decided_at or effective_from of its own, or in other words',
    },
  );
}

export const topicDecider: Decider<Topic, TopicCommand, TopicEvent> = {
  initial: () => ({
    status: 'absent',
    recordedMs: BEGINNING,
    mergedInto: '',
    absorbed: new Set(),
    absorbing: new Map(),
    aliases: new Set(),
    decisions: new Map(),
    heads: new Set(),
    ended: [],
    openConflicts: new Map(),
    closedConflicts: new Map(),
    compatible: new Set(),
  }),
  decide,
  evolve(topic, event, recordedAt) {
    topic.recordedMs = Math.max(topic.recordedMs, recordedAt);
    return evolveTopic(topic, event);
  },
};
