import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { approve, revoke } from './topic-succession.js';
import {
  evolve,
  heldOf,
  ring,
  unknownTarget,
  type Approval,
  type Decision,
  type Timing,
  type Topic,
} from './topic-state.js';
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
  | { type: 'Reject'; decisionId: string; reason: string }
  | { type: 'Retract'; decisionId: string; reason: string }
  | ({ type: 'Revoke'; decisionId: string; reason: string; from?: string | undefined } & Timing);

function decide(command: TopicCommand, topic: Topic): TopicEvent[] {
  switch (command.type) {
    case 'Propose':
      return propose(command, topic);
    case 'Approve':
      return approve(command, topic, candidate(topic, command.decisionId, 'approved'));
    case 'Reject': {
      const { id } = candidate(topic, command.decisionId, 'rejected');
      return [{ type: 'DecisionRejected', data: { decision_id: id, reason: command.reason } }];
    }
    case 'Retract': {
      const { id } = candidate(topic, command.decisionId, 'retracted');
      return [{ type: 'DecisionRetracted', data: { decision_id: id, reason: command.reason } }];
    }
    case 'Revoke':
      return revoke(command, topic, known(topic, command.decisionId));
    default:
      return unreachable(command);
  }
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
    return [...naming, proposed, ...approved];
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

/** Succession is stated among decisions that exist and never comes back to where it began (B08). */
function refuseRing(claim: Proposed, topic: Topic): void {
  for (const target of claim.supersedes) {
    const chain = [claim.decision_id, target];
    if (target === claim.decision_id) throw ring(chain);
    const first = topic.decisions.get(target);
    if (!first) throw unknownTarget(target);
    if (!topic.decisions.has(claim.decision_id)) continue;
    const seen = new Set<string>();
    const open = [...first.supersedes];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === claim.decision_id) throw ring([...chain, ...seen]);
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(topic.decisions.get(next)?.supersedes ?? []));
    }
  }
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

function candidate(topic: Topic, id: string, wanted: string): Decision {
  const decision = known(topic, id);
  if (decision.status === 'candidate') return decision;
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
          : 'ingest a new record to propose it again',
    },
  );
}

export const topicDecider: Decider<Topic, TopicCommand, TopicEvent> = {
  initial: () => ({
    status: 'absent',
    aliases: new Set(),
    decisions: new Map(),
    heads: new Set(),
    openConflicts: new Map(),
    conflicts: 0,
  }),
  decide,
  evolve,
};
