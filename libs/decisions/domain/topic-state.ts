import { unreachable } from '#kernel/decider.js';
import { BEGINNING, FOREVER } from '#kernel/time.js';
import { documentKeyOf, meaningOf, unread, type Validity } from './claim.js';
import type { IsWithin } from './hierarchy.js';
import type { Proposed, Scope, TopicEvent } from './topic.events.js';

/** What a topic remembers of a decision in order to decide about it; the read models keep the rest. */
export interface Held {
  id: string;
  meaning: string;
  /** Ids of the keys that seal what it says. */
  keys: readonly string[];
  scope: Scope;
  contentHash: string;
  supersedes: readonly string[];
  effectiveFrom: string | undefined;
  effectiveTo: string | undefined;
  decidedAt: string | undefined;
  origin: string;
  documentKey: string | undefined;
  proposedBy: string;
}

export type Decision = Held &
  (
    | { status: 'candidate' }
    | ({ status: 'approved' } & Validity)
    | ({ status: 'superseded'; by: string } & Validity)
    | ({ status: 'revoked' } & Validity)
    | { status: 'rejected' }
    | { status: 'retracted'; replacedBy: string | undefined }
    | { status: 'confirming'; of: string }
  );

/** One that was approved, whether it still holds or not. */
export type Approved = Extract<Decision, Validity>;

export interface Topic {
  /** `merged`: closed; another topic decides about what was in it. */
  status: 'absent' | 'open' | 'merged';
  /** When its last event was recorded. */
  recordedMs: number;
  mergedInto: string;
  /** Topics that were merged into this one, and what of one has come so far. */
  absorbed: Set<string>;
  absorbing: Map<string, Decision[]>;
  aliases: Set<string>;
  decisions: Map<string, Decision>;
  /** Approved, not superseded, not revoked. */
  heads: Set<string>;
  /** Superseded and revoked ones that held or will hold for some time, by their end, earliest first. */
  ended: { id: string; endMs: number }[];
  openConflicts: Map<string, readonly string[]>;
  closedConflicts: Map<string, 'resolved' | 'dismissed'>;
  /** Pairs (`pairOf`) that a governor found not to be incompatible. */
  compatible: Set<string>;
}

/** How one decision of a topic comes to replace another: stated each time, or by the later effective date in the same scope (QO-24). */
export type Succession = 'stated' | 'by_effective_date';

/** Comes with the command: the clock, the workspace's zone and its ontology are not the domain's to know. */
export interface Timing {
  nowMs: number;
  toMs(when: string): number;
  /** Default: no dimension has a hierarchy. */
  isWithin?: IsWithin | undefined;
  /** Default `stated`. */
  succession?: Succession | undefined;
}

export interface Approval extends Timing {
  decisionId: string;
  reason: string;
  contentHash?: string | undefined;
  supersedes?: readonly string[] | undefined;
  supersededBy?: string | undefined;
  effectiveFrom?: string | undefined;
  effectiveTo?: string | undefined;
  /** The principal who approves, where the organisation wants four eyes: nobody approves what he proposed (QO-12). */
  fourEyes?: string | undefined;
}

export function heldOf(claim: Proposed): Decision {
  return {
    id: claim.decision_id,
    meaning: meaningOf(claim),
    keys: claim.keys ?? [],
    scope: claim.scope,
    contentHash: claim.content_hash,
    supersedes: claim.supersedes,
    effectiveFrom: claim.effective_from,
    effectiveTo: claim.effective_to,
    decidedAt: claim.decided_at,
    origin: claim.origin,
    documentKey: documentKeyOf(claim),
    proposedBy: claim.proposed_by,
    status: 'candidate',
  };
}

/** True for a decision whose words were erased. */
export function saysNothing({ id, meaning }: Held): boolean {
  return meaning === unread(id);
}

export type MergeEvent = Extract<TopicEvent, { type: 'TopicMerged' | 'TopicAbsorbed' }>;

export function evolve(topic: Topic, event: Exclude<TopicEvent, MergeEvent>): Topic {
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
      return topic;
    case 'ConflictResolved':
      topic.openConflicts.delete(event.data.conflict_id);
      topic.closedConflicts.set(event.data.conflict_id, 'resolved');
      return topic;
    case 'ConflictDismissed':
      for (const pair of pairsOf(topic.openConflicts.get(event.data.conflict_id) ?? []))
        topic.compatible.add(pairOf(...pair));
      topic.openConflicts.delete(event.data.conflict_id);
      topic.closedConflicts.set(event.data.conflict_id, 'dismissed');
      return topic;
    default:
      return evolveDecision(topic, event);
  }
}

export type DecisionEvent = Extract<TopicEvent, { type: `Decision${string}` }>;
type DecisionChange = Exclude<DecisionEvent, { type: 'DecisionProposed' }>;

function evolveDecision(topic: Topic, event: DecisionChange): Topic {
  const id = subjectOf(event);
  const held = topic.decisions.get(id);
  if (!held) return topic;
  const next = after(held, event);
  topic.decisions.set(id, next);
  topic.heads.delete(id);
  if (next.status === 'approved') topic.heads.add(id);
  else forgetAndRemember(topic, held, next);
  return topic;
}

function subjectOf(event: DecisionChange): string {
  return event.type === 'DecisionConfirmed' ? event.data.by : event.data.decision_id;
}

/** Keeps `ended` in order. Ends come nearly in order, so the place is near the back. */
function forgetAndRemember({ ended }: Topic, before: Decision, now: Decision): void {
  if (before.status === 'superseded' || before.status === 'revoked') {
    const at = ended.findLastIndex((e) => e.id === before.id);
    if (at >= 0) ended.splice(at, 1);
  }
  if (!isApproved(now) || now.endMs <= now.startMs) return;
  const place = ended.findLastIndex((e) => e.endMs <= now.endMs) + 1;
  ended.splice(place, 0, { id: now.id, endMs: now.endMs });
}

function after(held: Decision, event: DecisionChange): Decision {
  switch (event.type) {
    case 'DecisionApproved': {
      const { starts_at, ends_at, supersedes } = event.data;
      const startMs = Date.parse(starts_at);
      const endMs = ends_at === undefined ? FOREVER : Date.parse(ends_at);
      return { ...held, status: 'approved', supersedes, startMs, endMs };
    }
    case 'DecisionSuperseded': {
      const span = cut(held, event.data.ends_at);
      // A revocation stays one, whatever shortens it further.
      if (held.status === 'revoked') return { ...held, ...span };
      return { ...held, status: 'superseded', by: event.data.by, ...span };
    }
    case 'DecisionRevoked':
      return { ...held, status: 'revoked', ...cut(held, event.data.ends_at) };
    case 'DecisionRejected':
      return { ...held, status: 'rejected' };
    case 'DecisionRetracted':
      return { ...held, status: 'retracted', replacedBy: event.data.replaced_by };
    case 'DecisionConfirmed':
      return { ...held, status: 'confirming', of: event.data.decision_id };
    default:
      return unreachable(event);
  }
}

function cut(held: Decision, endsAt: string): Validity {
  const { startMs, endMs } = validityOf(held);
  // Ended from before it began, it never held.
  return { startMs, endMs: Math.max(startMs, Math.min(endMs, Date.parse(endsAt))) };
}

export function validityOf(decision: Decision): Validity {
  return isApproved(decision)
    ? { startMs: decision.startMs, endMs: decision.endMs }
    : { startMs: BEGINNING, endMs: FOREVER };
}

export function isApproved(decision: Decision): decision is Approved {
  return (
    decision.status === 'approved' ||
    decision.status === 'superseded' ||
    decision.status === 'revoked'
  );
}

/** Looks decisions up as they will be once `events` are stored. `fresh`: one that is proposed in the same append. */
export function withEvents(
  topic: Topic,
  events: readonly TopicEvent[],
  fresh?: Decision,
): (id: string) => Decision | undefined {
  const changed = new Map<string, Decision>(fresh ? [[fresh.id, fresh]] : []);
  const find = (id: string): Decision | undefined => changed.get(id) ?? topic.decisions.get(id);
  for (const event of events) {
    if (!isDecisionChange(event)) continue;
    const held = find(subjectOf(event));
    if (held) changed.set(held.id, after(held, event));
  }
  return find;
}

function isDecisionChange(event: TopicEvent): event is DecisionChange {
  return event.type.startsWith('Decision') && event.type !== 'DecisionProposed';
}

/** Approved decisions that hold at some time after `ms`: heads first, then ended ones, latest end first. */
export function* holdingAfter(topic: Topic, ms: number): Generator<string> {
  yield* topic.heads;
  for (let i = topic.ended.length - 1; i >= 0; i -= 1) {
    const entry = topic.ended[i];
    if (!entry || entry.endMs <= ms) return;
    yield entry.id;
  }
}

/**
 * Whether a decision that was superseded or revoked holds on for some time after `fromMs`, so that it can be ended sooner; what lies
 * behind is history. An end "from now on" lies behind for whatever is decided after it was recorded, also where that was sent before.
 */
export function endsAfter(
  topic: Topic,
  { startMs, endMs }: Approved,
  fromMs: number,
  nowMs: number,
): boolean {
  return startMs < endMs && Math.max(fromMs, nowMs, topic.recordedMs) < endMs;
}

/** One name for two decisions, whichever comes first. */
export function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

export function pairsOf(ids: readonly string[]): [string, string][] {
  return ids.flatMap((a, i) => ids.slice(i + 1).map((b): [string, string] => [a, b]));
}
