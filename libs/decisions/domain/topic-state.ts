import { unreachable } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { BEGINNING, FOREVER } from '#kernel/time.js';
import { meaningOf } from './claim.js';
import type { Proposed, Scope, TopicEvent } from './topic.events.js';

/** What a topic remembers of a decision in order to decide about it; the read models keep the rest. */
export interface Held {
  id: string;
  meaning: string;
  scope: Scope;
  contentHash: string;
  supersedes: readonly string[];
  effectiveFrom: string | undefined;
  effectiveTo: string | undefined;
  decidedAt: string | undefined;
  origin: string;
  document: string | undefined;
  proposedBy: string;
}

export type Decision = Held &
  (
    | { status: 'candidate' }
    | { status: 'approved'; startMs: number; endMs: number }
    | { status: 'superseded'; by: string; startMs: number; endMs: number }
    | { status: 'revoked' }
    | { status: 'rejected' }
    | { status: 'retracted' }
    | { status: 'confirming'; of: string }
  );

export interface Topic {
  status: 'absent' | 'open';
  aliases: Set<string>;
  decisions: Map<string, Decision>;
  /** Approved, not superseded, not revoked. */
  heads: Set<string>;
  openConflicts: Map<string, readonly string[]>;
  conflicts: number;
}

/** `nowMs` and `toMs` come with the command: the clock and the workspace's zone are not the domain's to know. */
export interface Timing {
  nowMs: number;
  toMs(when: string): number;
}

export interface Approval extends Timing {
  decisionId: string;
  reason: string;
  contentHash?: string | undefined;
  supersedes?: readonly string[] | undefined;
  supersededBy?: string | undefined;
  effectiveFrom?: string | undefined;
  effectiveTo?: string | undefined;
}

export function heldOf(claim: Proposed): Decision {
  return {
    id: claim.decision_id,
    meaning: meaningOf(claim),
    scope: claim.scope,
    contentHash: claim.content_hash,
    supersedes: claim.supersedes,
    effectiveFrom: claim.effective_from,
    effectiveTo: claim.effective_to,
    decidedAt: claim.decided_at,
    origin: claim.origin,
    document: claim.document,
    proposedBy: claim.proposed_by,
    status: 'candidate',
  };
}

export function evolve(topic: Topic, event: TopicEvent): Topic {
  switch (event.type) {
    case 'TopicOpened':
      topic.status = 'open';
      return topic;
    case 'TopicAliased':
      for (const alias of event.data.aliases) topic.aliases.add(alias);
      return topic;
    case 'DecisionProposed':
      topic.decisions.set(event.data.decision_id, heldOf(event.data));
      return topic;
    case 'ConflictOpened':
      topic.openConflicts.set(event.data.conflict_id, event.data.claims);
      topic.conflicts += 1;
      return topic;
    case 'ConflictResolved':
      topic.openConflicts.delete(event.data.conflict_id);
      return topic;
    default:
      return evolveDecision(topic, event);
  }
}

type DecisionEvent = Exclude<
  TopicEvent,
  {
    type:
      'TopicOpened' | 'TopicAliased' | 'DecisionProposed' | 'ConflictOpened' | 'ConflictResolved';
  }
>;

function evolveDecision(topic: Topic, event: DecisionEvent): Topic {
  const id = event.type === 'DecisionConfirmed' ? event.data.by : event.data.decision_id;
  const held = topic.decisions.get(id);
  if (!held) return topic;
  topic.heads.delete(id);
  topic.decisions.set(id, after(held, event));
  if (event.type === 'DecisionApproved') topic.heads.add(id);
  return topic;
}

function after(held: Decision, event: DecisionEvent): Decision {
  switch (event.type) {
    case 'DecisionApproved': {
      const { starts_at, ends_at, supersedes } = event.data;
      const startMs = Date.parse(starts_at);
      const endMs = ends_at === undefined ? FOREVER : Date.parse(ends_at);
      return { ...held, status: 'approved', supersedes, startMs, endMs };
    }
    case 'DecisionSuperseded': {
      const { startMs, endMs } = validityOf(held);
      const end = Math.min(endMs, Date.parse(event.data.ends_at));
      return { ...held, status: 'superseded', by: event.data.by, startMs, endMs: end };
    }
    case 'DecisionRevoked':
      return { ...held, status: 'revoked' };
    case 'DecisionRejected':
      return { ...held, status: 'rejected' };
    case 'DecisionRetracted':
      return { ...held, status: 'retracted' };
    case 'DecisionConfirmed':
      return { ...held, status: 'confirming', of: event.data.decision_id };
    default:
      return unreachable(event);
  }
}

export function validityOf(decision: Decision): { startMs: number; endMs: number } {
  return decision.status === 'approved' || decision.status === 'superseded'
    ? { startMs: decision.startMs, endMs: decision.endMs }
    : { startMs: BEGINNING, endMs: FOREVER };
}

export function ring(members: readonly string[]): Refusal {
  return new Refusal('conflict', 'supersession_cycle', `supersession would form a ring`, {
    path: 'supersedes',
    issues: members.map((id) => ({ path: 'supersedes', problem: id })),
    fix: 'leave out the link that closes the ring',
  });
}

export function unknownTarget(id: string): Refusal {
  return new Refusal('invalid', 'unknown_target', `no decision ${id} in this topic`, {
    path: 'supersedes',
    issues: [{ path: 'supersedes', problem: `${id} is no decision of this topic` }],
    fix: 'name decisions of the same topic; get_decision_history lists them',
  });
}
