import { compareScopes, covers, isUnread, meaningOf, unnamedIn } from './claim.js';
import {
  evidenceOf,
  everHeld,
  isOpen,
  seen,
  validity,
  type ClaimView,
  type ConflictView,
  type Known,
} from './claim-view.js';
import { FLAT, type IsWithin } from './hierarchy.js';
import { afterLast, idsOf, notCounted, since } from './resolver-reasons.js';
import { pairOf, pairsOf } from './topic-state.js';
import type { Evidence, Scope } from './topic.events.js';

export type State = 'verified' | 'contested' | 'insufficient_evidence' | 'unknown';

export interface Resolution {
  state: State;
  /** A sentence: why this state. */
  reason: string;
  decision?: ClaimView;
  /** Decisions in force beside it: contradicting ones, ones that say the same or are compatible, or ones that need a scope to apply. */
  alternatives: ClaimView[];
  conflicts: ConflictView[];
  /** Decisions that were in force and no longer are, latest first. */
  history: readonly ClaimView[];
}

/** A topic at one moment of valid time, as far as was known. */
export interface TopicAt {
  /** Whatever was proposed by then. */
  claims: readonly ClaimView[];
  /** Decisions in force, in the order of their approval. */
  inForce: readonly ClaimView[];
  /** Decisions that were in force and no longer are, latest first. */
  history: readonly ClaimView[];
  /** Where nothing is in force: the decision that is the first to begin later. */
  next: ClaimView | undefined;
}

export function topicAt(all: readonly ClaimView[], asOfMs: number, known: Known): TopicAt {
  const claims = all.filter((c) => seen(c.proposed, known));
  const timed = claims.flatMap((claim) => {
    const interval = validity(claim, known);
    return interval ? [{ claim, ...interval }] : [];
  });
  const inForce = timed.filter(({ startMs, endMs }) => startMs <= asOfMs && asOfMs < endMs);
  const later =
    inForce.length > 0
      ? []
      : timed.filter(({ startMs, endMs }) => asOfMs < startMs && startMs < endMs);
  return {
    claims,
    inForce: inForce.map(({ claim }) => claim).sort(byApproval),
    history: timed
      .filter(({ claim, endMs }) => endMs <= asOfMs && everHeld(claim))
      .sort((a, b) => b.endMs - a.endMs || byApproval(b.claim, a.claim))
      .map(({ claim }) => claim),
    next: later.sort((a, b) => a.startMs - b.startMs || byApproval(a.claim, b.claim))[0]?.claim,
  };
}

function byApproval(a: ClaimView, b: ClaimView): number {
  return (a.approval?.position ?? 0) - (b.approval?.position ?? 0);
}

export interface Question {
  /** At the time that is asked about, as far as `known` reaches. */
  topic: TopicAt;
  conflicts: readonly ConflictView[];
  scope: Scope | undefined;
  known: Known;
  /** Default: no dimension has a hierarchy. */
  isWithin?: IsWithin;
  /** Whether the ontology has the dimension. Default: it has. */
  isDeclared?: (dimension: string) => boolean;
  /** Whether an excerpt still stands in a captured source. Default: it does. */
  verifies?: (evidence: Evidence) => boolean;
}

/**
 * What is decided for a topic at a valid time, as far as was known at a recorded time (QO-2, QO-3).
 * Never ranks two heads: where decisions of different meaning hold and none is a strict exception to the other, it says so.
 */
export function resolve(question: Question): Resolution {
  const resolution = decided(question);
  const ignored = ignoredOf(question);
  if (ignored.length === 0) return resolution;
  return { ...resolution, reason: `${resolution.reason} ${notCounted(ignored)}` };
}

/** Dimensions asked about that neither the ontology nor a decision in force knows. */
function ignoredOf({ scope, topic, isDeclared = () => true }: Question): string[] {
  if (scope === undefined || topic.inForce.length === 0) return [];
  const named = topic.inForce.map((c) => c.scope);
  return unnamedIn(scope, named).filter((dimension) => !isDeclared(dimension));
}

function decided(question: Question): Resolution {
  const { topic, known, isWithin = FLAT } = question;
  const applicable = topic.inForce.filter((c) => covers(c.scope, question.scope ?? {}, isWithin));
  const narrowest = applicable.filter(
    (c) =>
      !applicable.some((other) => compareScopes(other.scope, c.scope, isWithin) === 'narrower'),
  );
  const rest = {
    conflicts: question.conflicts.filter((c) => isOpen(c, known)),
    history: topic.history,
  };
  const [first, ...others] = narrowest;
  if (!first) return { ...nothing(question), ...rest };
  const compatible = compatiblePairs(question);
  const contradicting = pairsOf(narrowest.map((c) => c.decision_id)).some(
    ([a, b]) => !compatible.has(pairOf(a, b)) && differ(narrowest, a, b, question),
  );
  if (contradicting)
    return {
      state: 'contested',
      reason: `${narrowest.length} decisions hold at once and none supersedes the other: ${idsOf(narrowest)}.`,
      alternatives: narrowest,
      ...rest,
    };
  return { ...together([first, ...others], question), ...rest };
}

/** Of what cannot be read any more the conflicts tell that were opened while it could: an erasure changes nothing that stands. */
function differ(
  claims: readonly ClaimView[],
  a: string,
  b: string,
  { conflicts, known }: Question,
): boolean {
  const [one, other] = [a, b].map((id) => claims.find((c) => c.decision_id === id));
  if (!one || !other) return true;
  if (isUnread(one) || isUnread(other))
    return conflicts.some((c) => isOpen(c, known) && c.claims.includes(a) && c.claims.includes(b));
  return meaningOf(one) !== meaningOf(other);
}

/** Pairs that a governor found not to be incompatible, as far as was known. */
function compatiblePairs({ conflicts, known }: Question): Set<string> {
  return new Set(
    conflicts
      .filter((c) => c.closed?.how === 'dismissed' && seen(c.closed, known))
      .flatMap((c) => pairsOf(c.claims))
      .map((pair) => pairOf(...pair)),
  );
}

/** Decisions that do not contradict one another. The first that is supported stands for all; the rest is shown beside it. */
function together(
  claims: readonly [ClaimView, ...ClaimView[]],
  question: Question,
): Pick<Resolution, 'state' | 'reason' | 'decision' | 'alternatives'> {
  const decision = claims.find((c) => supports(c, question) > 0) ?? claims[0];
  const alternatives = claims.filter((c) => c !== decision);
  const excerpts = supports(decision, question);
  if (excerpts === 0) {
    const stated = decision.evidence.length > 0;
    return {
      state: 'insufficient_evidence',
      reason: stated
        ? `${decision.decision_id} is approved, but its excerpts are in no captured source any more.`
        : `${decision.decision_id} is approved, but no excerpt supports it.`,
      decision,
      alternatives,
    };
  }
  return {
    state: 'verified',
    reason: since(decision, alternatives, excerpts),
    decision,
    alternatives,
  };
}

/** How many excerpts of it still stand in a captured source. */
function supports(claim: ClaimView, { known, verifies = () => true }: Question): number {
  return evidenceOf(claim, known).filter((e) => verifies(e)).length;
}

type Nothing = Pick<Resolution, 'state' | 'reason' | 'alternatives'>;

/** No decision applies: the most telling fact becomes the reason. */
function nothing(question: Question): Nothing {
  const { claims, inForce, history, next } = question.topic;
  if (inForce.length > 0)
    return {
      state: 'insufficient_evidence',
      reason: question.scope
        ? `${inForce.length === 1 ? 'A decision is' : `${inForce.length} decisions are`} in force, but for other scopes than the one asked.`
        : 'Decisions are in force for particular scopes only; ask with a scope.',
      alternatives: [...inForce],
    };
  const [lapsed] = history;
  if (lapsed)
    return {
      state: 'insufficient_evidence',
      reason: afterLast(
        lapsed,
        question.known,
        next && {
          claim: next,
          covers: covers(next.scope, question.scope ?? {}, question.isWithin),
        },
      ),
      alternatives: [],
    };
  const pending = claims.filter(
    (c) => !c.ends.some((e) => seen(e, question.known)) && !validity(c, question.known),
  );
  if (pending.length > 0)
    return {
      state: 'insufficient_evidence',
      reason: `Nothing is approved${next ? ' for the time asked' : ''}; ${pending.length} candidate${pending.length === 1 ? ' awaits' : 's await'} review.`,
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
