import { isoMs } from '#kernel/time.js';
import { isUnread, meaningOf } from './claim.js';
import { seen, type ClaimView, type Known } from './claim-view.js';

/** Decisions that a reason names one by one. */
const NAMED_MAX = 10;

export function idsOf(claims: readonly ClaimView[]): string {
  const named = claims.slice(0, NAMED_MAX).map((c) => c.decision_id);
  const more = claims.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** Why a decision is the answer, and what stands beside it. */
export function since(claim: ClaimView, others: readonly ClaimView[], excerpts: number): string {
  const approved = `approved ${claim.approval?.at ?? ''} by ${claim.approval?.by ?? ''}`;
  const from = claim.effective_from
    ? `in force since ${claim.effective_from}, ${approved}`
    : `${approved}; no effective date is stated, so it counts from its approval`;
  const supported = `supported by ${excerpts} verified excerpt${excerpts === 1 ? '' : 's'}`;
  if (others.length === 0) return `One approved decision holds, ${from}, ${supported}.`;
  if ([claim, ...others].some(isUnread))
    return `${others.length + 1} approved decisions hold side by side, and what some of them say cannot be read any more: ${claim.decision_id}, ${from}, ${supported}, and ${idsOf(others)}. All of them apply.`;
  const alike = others.every((c) => meaningOf(c) === meaningOf(claim));
  return alike
    ? `${others.length + 1} approved decisions say the same; ${claim.decision_id} is ${from}, ${supported}. The same is said by ${idsOf(others)}.`
    : `${others.length + 1} approved decisions hold side by side, which a governor found not incompatible: ${claim.decision_id}, ${from}, ${supported}, and ${idsOf(others)}. All of them apply.`;
}

/** What begins next where nothing holds. */
export interface Next {
  claim: ClaimView;
  /** Its scope covers the one asked about. */
  covers: boolean;
}

/** Why nothing is in force after the last decision that was. */
export function afterLast(claim: ClaimView, known: Known, next: Next | undefined): string {
  // Of several ends the one that comes first in valid time.
  const [end] = claim.ends.filter((e) => seen(e, known)).sort((a, b) => a.fromMs - b.fromMs);
  const why =
    end?.kind === 'revoked'
      ? `was revoked by ${end.by}: ${end.reason ?? ''}`
      : end?.kind === 'superseded'
        ? `was superseded by ${end.successor ?? ''}`
        : `applied only until ${claim.effective_to ?? ''}`;
  return `The last decision, ${claim.decision_id}, ${why}; nothing holds at the time asked${
    next ? `, and ${begins(next)}` : ''
  }.`;
}

function begins({ claim, covers }: Next): string {
  const from = claim.effective_from ?? isoMs(claim.approval?.startMs ?? 0);
  return `${claim.decision_id} applies from ${from}${covers ? '' : ', for another scope than the one asked'}`;
}

/** What of the scope asked about did not count, because nothing knows it. */
export function notCounted(dimensions: readonly string[]): string {
  const list = dimensions.map((d) => JSON.stringify(d)).join(', ');
  return dimensions.length === 1
    ? `The dimension ${list} did not count: no decision in force for this topic names it and the ontology does not declare it.`
    : `The dimensions ${list} did not count: no decision in force for this topic names one of them and the ontology declares none.`;
}
