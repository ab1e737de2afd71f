import type { Reads } from '#projections/read-database.js';
import type { DecisionView } from '../contract.js';
import { validity, type ClaimView, type Known } from '../domain/claim-view.js';
import type { Axes } from './answering.js';
import { claimById, claimsIn } from './claim-queries.js';
import { topicById } from './topics.js';
import { decisionView } from './views.js';

/** A decision that was in force at one of two moments of valid time, or at both. */
export interface Standing {
  in_force: 'from' | 'to' | 'both';
  topic_name: string;
  decision: DecisionView;
}

/** Every decision of the workspace, or of one topic, that was in force at `fromMs` or at `axes.asOfMs`, topic by topic, as far as is known. */
export function* standing(
  reads: Reads,
  workspace: string,
  fromMs: number,
  axes: Axes,
  topic?: string,
): Generator<Standing> {
  const { asOfMs: toMs, known, nameOf } = axes;
  for (const claim of claimsIn(reads, workspace, topic, known)) {
    const held = holdsAt(claim, fromMs, known);
    const holds = holdsAt(claim, toMs, known);
    if (!held && !holds) continue;
    yield {
      in_force: held && holds ? 'both' : held ? 'from' : 'to',
      topic_name: topicById(reads, workspace, claim.topic, known)?.name ?? claim.topic,
      decision: decisionView(claim, known, nameOf),
    };
  }
}

function holdsAt(claim: ClaimView, ms: number, known: Known): boolean {
  const interval = validity(claim, known);
  return interval !== undefined && interval.startMs <= ms && ms < interval.endMs;
}

/** Who approved or confirmed a decision: with this an auditor finds the event and proves it. */
export interface Approval {
  decision_id: string;
  content_hash: string;
  kind: 'approved' | 'confirmed';
  position: string;
  at: string;
  by: string;
  reason?: string;
}

/** The approvals of a decision as far as was known, the first one first. */
export function approvalsOf(
  reads: Reads,
  workspace: string,
  { id, topic }: Pick<DecisionView, 'id' | 'topic'>,
  known: Known,
): Approval[] {
  const claim = claimById(reads, workspace, topic, id);
  if (!claim?.approval) return [];
  const { content_hash, approval, confirmations } = claim;
  const of = (kind: Approval['kind'], fact: { position: number; at: string; by: string }) => ({
    decision_id: id,
    content_hash,
    kind,
    position: String(fact.position),
    at: fact.at,
    by: fact.by,
  });
  return [
    { ...of('approved', approval), reason: approval.reason },
    ...confirmations
      .filter((c) => c.position <= known.position && c.ms <= known.ms)
      .map((c) => of('confirmed', c)),
  ];
}
