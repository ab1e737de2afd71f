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

/** Why nothing is in force after the last decision that was. */
export function afterLast(claim: ClaimView, known: Known): string {
  const end = claim.ends.filter((e) => seen(e, known)).at(-1);
  const why =
    end?.kind === 'revoked'
      ? `was revoked by ${end.by}: ${end.reason ?? ''}`
      : end?.kind === 'superseded'
        ? `was superseded by ${end.successor ?? ''}, which does not hold at the time asked`
        : `applied only until ${claim.effective_to ?? ''}`;
  return `The last decision, ${claim.decision_id}, ${why}; nothing has replaced it.`;
}
