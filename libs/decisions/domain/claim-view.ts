import type { Json } from '#kernel/json.js';
import { whenMs } from '#kernel/time.js';
import type { Validity } from './claim.js';
import type { Evidence, Relation, Scope } from './topic.events.js';

/** How far the knowledge reaches that an answer may use: facts recorded later do not exist for it. `position` is the end of an append. */
export interface Known {
  position: number;
  ms: number;
}

export const ALL_KNOWN: Known = { position: Infinity, ms: Infinity };

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
  /** `command`: what its append was caused by. */
  approval?: Fact & {
    revision: number;
    reason: string;
    startMs: number;
    endMs: number;
    command?: string;
  };
  /** Supersessions and revocations, each but the first sooner than those before, or one of another kind. `fromMs`: valid time at which it ended; `atOnce`: in the append of its approval. */
  ends: (Fact & {
    kind: EndKind;
    fromMs: number;
    successor?: string;
    reason?: string;
    atOnce?: true;
  })[];
  confirmations: (Fact & { decision_id: string; evidence: Evidence[] })[];
  /** The erasure that took its words. Known as soon as it is done: it is no fact of the decision's own history. */
  erased?: { erasure: string; at: string; reason: string };
}

export type EndKind = 'superseded' | 'revoked' | 'rejected' | 'retracted' | 'confirming';

export interface ConflictView {
  conflict_id: string;
  topic: string;
  kind: string;
  claims: string[];
  would_be_resolved_by: string[];
  opened: Fact;
  closed?: Fact & { how: 'resolved' | 'dismissed'; winner?: string; reason: string };
}

/** What supports a claim as far as was known: its own excerpts and those of what confirmed it. */
export function evidenceOf(claim: ClaimView, known: Known): Evidence[] {
  const confirmed = claim.confirmations.filter((c) => seen(c, known));
  return [...claim.evidence, ...confirmed.flatMap((c) => c.evidence)];
}

export function seen(fact: { position: number; ms: number }, known: Known): boolean {
  return fact.position <= known.position && fact.ms <= known.ms;
}

export function isOpen(conflict: ConflictView, known: Known): boolean {
  return seen(conflict.opened, known) && !(conflict.closed && seen(conflict.closed, known));
}

/** Valid interval of an approved claim as far as known; undefined where the approval is not. */
export function validity(claim: ClaimView, known: Known): Validity | undefined {
  if (!claim.approval || !seen(claim.approval, known)) return undefined;
  const { startMs } = claim.approval;
  let { endMs } = claim.approval;
  for (const end of claim.ends) if (seen(end, known)) endMs = Math.min(endMs, end.fromMs);
  // Ended from before it began, it never held: its interval is empty, at its start.
  return { startMs, endMs: Math.max(startMs, endMs) };
}

/** False for what never held as far as anybody ever knew: ended by its own approval for all of its time. */
export function everHeld({ approval, ends }: Pick<ClaimView, 'approval' | 'ends'>): boolean {
  if (!approval) return false;
  const atOnce = ends.filter((e) => e.atOnce).map((e) => e.fromMs);
  return approval.startMs < Math.min(approval.endMs, ...atOnce);
}

/** When it was decided: as its source says, read in `zone`, else when it was approved here. Undefined for what is neither, as far as known. */
export function decidedMs(claim: ClaimView, known: Known, zone: string): number | undefined {
  if (claim.decided_at !== undefined) return whenMs(claim.decided_at, zone);
  return claim.approval && seen(claim.approval, known) ? claim.approval.ms : undefined;
}
