import type { Json } from '#kernel/json.js';
import { compareScopes, covers } from './claim.js';
import type { Evidence, Relation, Scope } from './topic.events.js';

/** How far the knowledge reaches that an answer may use: facts recorded later do not exist for it. */
export interface Known {
  position: number;
  ms: number;
}

interface Fact {
  position: number;
  /** When it was recorded. */
  ms: number;
  at: string;
  by: string;
}

/** A claim with everything that ever happened to it; `resolve` decides what of it counts. */
export interface ClaimView {
  decision_id: string;
  topic: string;
  statement: string;
  value?: Json;
  scope: Scope;
  effective_from?: string;
  effective_to?: string;
  decided_at?: string;
  document?: string;
  evidence: Evidence[];
  relations: Relation[];
  content_hash: string;
  reasons: string[];
  proposed: Fact;
  approval?: Fact & { revision: number; reason: string; startMs: number; endMs: number };
  /** At most one of them is not a supersession. `fromMs`: valid time at which it ended. */
  ends: (Fact & { kind: EndKind; fromMs: number; successor?: string; reason?: string })[];
  confirmations: (Fact & { decision_id: string; evidence: Evidence[] })[];
}

export type EndKind = 'superseded' | 'revoked' | 'rejected' | 'retracted' | 'confirming';

export interface ConflictView {
  conflict_id: string;
  topic: string;
  kind: string;
  claims: string[];
  would_be_resolved_by: string[];
  opened: Fact;
  closed?: Fact & { winner?: string; reason: string };
}

export type State = 'verified' | 'contested' | 'insufficient_evidence' | 'unknown';

export interface Resolution {
  state: State;
  /** A sentence: why this state. */
  reason: string;
  decision?: ClaimView;
  /** Decisions in force that the question leaves open between, or that need a scope to apply. */
  alternatives: ClaimView[];
  conflicts: ConflictView[];
  /** Decisions that were in force and no longer are, latest first. */
  history: ClaimView[];
}

export interface Question {
  claims: readonly ClaimView[];
  conflicts: readonly ConflictView[];
  scope: Scope | undefined;
  asOfMs: number;
  known: Known;
}

/**
 * What is decided for a topic at a valid time, as far as was known at a recorded time (QO-2, QO-3).
 * Never ranks two heads: where more than one decision holds and none is a strict exception to the other, it says so.
 */
export function resolve(question: Question): Resolution {
  const claims = question.claims.filter((c) => seen(c.proposed, question.known));
  const inForce = claims.filter((c) => holds(c, question));
  const applicable = inForce.filter((c) => covers(c.scope, question.scope ?? {}));
  const narrowest = applicable.filter(
    (c) => !applicable.some((other) => compareScopes(other.scope, c.scope) === 'narrower'),
  );
  const conflicts = question.conflicts.filter((c) => open(c, question.known));
  const touching = conflicts.filter(
    (c) => c.claims.filter((id) => narrowest.some((n) => n.decision_id === id)).length > 1,
  );
  const rest = { conflicts, history: historyOf(claims, question) };
  const [only, ...others] = narrowest;
  if (!only) return { ...nothing(claims, inForce, question), ...rest };
  if (others.length > 0 || touching.length > 0)
    return {
      state: 'contested',
      reason: `${narrowest.length} decisions hold at once and none supersedes the other: ${narrowest.map((c) => c.decision_id).join(', ')}.`,
      alternatives: narrowest,
      ...rest,
    };
  const verified = only.evidence.length > 0;
  return {
    state: verified ? 'verified' : 'insufficient_evidence',
    reason: verified ? since(only) : `${only.decision_id} is approved, but no excerpt supports it.`,
    decision: only,
    alternatives: [],
    ...rest,
  };
}

function seen(fact: { position: number; ms: number }, known: Known): boolean {
  return fact.position <= known.position && fact.ms <= known.ms;
}

function open(conflict: ConflictView, known: Known): boolean {
  return seen(conflict.opened, known) && !(conflict.closed && seen(conflict.closed, known));
}

/** Valid interval of an approved claim as far as known; undefined where the approval is not. */
export function validity(
  claim: ClaimView,
  known: Known,
): { startMs: number; endMs: number } | undefined {
  if (!claim.approval || !seen(claim.approval, known)) return undefined;
  const ends = claim.ends.filter((e) => seen(e, known)).map((e) => e.fromMs);
  return { startMs: claim.approval.startMs, endMs: Math.min(claim.approval.endMs, ...ends) };
}

function holds(claim: ClaimView, { asOfMs, known }: Question): boolean {
  const interval = validity(claim, known);
  return interval !== undefined && interval.startMs <= asOfMs && asOfMs < interval.endMs;
}

function historyOf(claims: readonly ClaimView[], { asOfMs, known }: Question): ClaimView[] {
  return claims
    .map((claim) => ({ claim, interval: validity(claim, known) }))
    .filter(({ interval }) => interval && interval.endMs <= asOfMs)
    .sort(
      (a, b) =>
        (b.interval?.endMs ?? 0) - (a.interval?.endMs ?? 0) ||
        (b.claim.approval?.position ?? 0) - (a.claim.approval?.position ?? 0),
    )
    .map(({ claim }) => claim);
}

function since(claim: ClaimView): string {
  const approved = `approved ${claim.approval?.at ?? ''} by ${claim.approval?.by ?? ''}`;
  const from = claim.effective_from
    ? `in force since ${claim.effective_from}, ${approved}`
    : `${approved}; no effective date is stated, so it counts from its approval`;
  return `One approved decision holds, ${from}, supported by ${claim.evidence.length} verified excerpt${claim.evidence.length === 1 ? '' : 's'}.`;
}

type Nothing = Pick<Resolution, 'state' | 'reason' | 'alternatives'>;

/** No decision applies: the most telling fact becomes the reason. */
function nothing(
  claims: readonly ClaimView[],
  inForce: readonly ClaimView[],
  question: Question,
): Nothing {
  if (inForce.length > 0)
    return {
      state: 'insufficient_evidence',
      reason: question.scope
        ? 'Decisions are in force, but for other scopes than the one asked.'
        : 'Decisions are in force for particular scopes only; ask with a scope.',
      alternatives: [...inForce],
    };
  const lapsed = historyOf(claims, question)[0];
  if (lapsed) return { ...ended(lapsed, question.known), alternatives: [] };
  const pending = claims.filter(
    (c) => !c.ends.some((e) => seen(e, question.known)) && !validity(c, question.known),
  );
  if (pending.length > 0)
    return {
      state: 'insufficient_evidence',
      reason: `Nothing is approved; ${pending.length} candidate${pending.length === 1 ? ' awaits' : 's await'} review.`,
      alternatives: [],
    };
  const later = claims.some((c) => validity(c, question.known));
  if (later)
    return {
      state: 'unknown',
      reason:
        'The decisions of this topic apply only from a later date; nothing is recorded for the time asked.',
      alternatives: [],
    };
  return claims.length > 0
    ? {
        state: 'insufficient_evidence',
        reason: 'Every candidate of this topic was rejected or retracted.',
        alternatives: [],
      }
    : {
        state: 'unknown',
        reason: 'Nothing was recorded for this topic by the time asked.',
        alternatives: [],
      };
}

function ended(claim: ClaimView, known: Known): Pick<Nothing, 'state' | 'reason'> {
  const end = claim.ends.filter((e) => seen(e, known)).at(-1);
  const why =
    end?.kind === 'revoked'
      ? `was revoked by ${end.by}: ${end.reason ?? ''}`
      : end?.kind === 'superseded'
        ? `was superseded by ${end.successor ?? ''}, which does not hold at the time asked`
        : `applied only until ${claim.effective_to ?? ''}`;
  return {
    state: 'insufficient_evidence',
    reason: `The last decision, ${claim.decision_id}, ${why}; nothing has replaced it.`,
  };
}
