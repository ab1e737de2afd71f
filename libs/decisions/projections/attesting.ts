import { sourceView } from '#sources/index.js';
import { sha256 } from '#kernel/json.js';
import { isHidden } from '#kernel/sealing.js';
import { FOREVER, isoMs } from '#kernel/time.js';
import type { Position } from '#event-store/event-store.js';
import type { ReceiptDetails } from '#transparency/receipt.js';
import type { Reads } from '#projections/read-database.js';
import type { Answer, ResolveInput } from '../contract.js';
import type { Attested } from '../domain/answer.events.js';
import { evidenceOf, validity, type ClaimView, type Known } from '../domain/claim-view.js';
import { axesOf } from './answering.js';
import { claimById } from './claim-queries.js';
import { conflictById } from './conflict-queries.js';
import { versionAt } from './ontology-queries.js';

/** What the event records of an answer for its receipt, from the moment of the read models that gave the answer. */
export function attestedOf(
  reads: Reads,
  workspace: string,
  input: ResolveInput,
  given: Answer,
  nowMs: number,
): Omit<Attested, 'answer_sha256'> {
  const { known } = axesOf(reads, workspace, input, nowMs);
  const { decision } = given;
  const claim = decision && claimById(reads, workspace, decision.topic, decision.id);
  return {
    state: given.state,
    ...(given.topic ? { topic: given.topic.topic } : {}),
    ...(decision && claim
      ? {
          scope: decision.scope,
          decision: {
            id: decision.id,
            revision: decision.revision,
            content_hash: claim.content_hash,
          },
          ...intervalOf(validity(claim, known)),
        }
      : {}),
    as_of: given.as_of,
    ...(given.known_at === undefined ? {} : { known_at: given.known_at }),
    ...ontologyOf(reads, workspace, known),
    evidence: digestsOf(reads, workspace, given.evidence),
    approvers: [...new Set(decision?.approved_by.map((a) => a.principal) ?? [])],
    ...(given.call_id === undefined ? {} : { execution_id: given.call_id }),
  };
}

/** An event that a receipt can be issued for, and what the receipt says of it. */
export interface Attestable {
  position: Position;
  details: ReceiptDetails;
}

/**
 * The approval of a decision, in the words of the moment at which it was recorded: what happened later changes no receipt.
 * Undefined for no decision of this workspace.
 */
export function approvalOf(
  reads: Reads,
  workspace: string,
  id: string,
): Attestable | 'not_approved' | undefined {
  const claim = claimById(reads, workspace, '', id);
  if (!claim) return undefined;
  const { approval } = claim;
  if (!approval) return 'not_approved';
  const { position, by, startMs, endMs, reason } = approval;
  return {
    position,
    details: {
      kind: 'approval',
      state: 'approved',
      topic: claim.topic,
      scope: claim.scope,
      decision: decisionOf(claim),
      ...intervalOf({ startMs, endMs }),
      ...ontologyOf(reads, workspace, { position, ms: Infinity }),
      evidence: digestsOf(reads, workspace, claim.evidence),
      approvers: [by],
      ...reasonOf(reason),
    },
  };
}

/** The end of a conflict, whatever brought it about; `decision`: the claim that prevailed, if one did. Undefined for no conflict of this workspace. */
export function resolutionOf(
  reads: Reads,
  workspace: string,
  id: string,
): Attestable | 'open' | undefined {
  const conflict = conflictById(reads, workspace, id);
  if (!conflict) return undefined;
  const { closed, claims, topic } = conflict;
  if (!closed) return 'open';
  const known = { position: closed.position, ms: Infinity };
  const winner =
    closed.winner === undefined ? undefined : claimById(reads, workspace, topic, closed.winner);
  return {
    position: closed.position,
    details: {
      kind: 'conflict_resolution',
      state: closed.how,
      topic,
      conflict: { id, claims },
      ...(winner ? { decision: decisionOf(winner), scope: winner.scope } : {}),
      ...ontologyOf(reads, workspace, known),
      evidence: winner ? digestsOf(reads, workspace, evidenceOf(winner, known)) : [],
      approvers: [closed.by],
      ...reasonOf(closed.reason),
    },
  };
}

function decisionOf({ decision_id: id, approval, content_hash }: ClaimView) {
  return { id, ...(approval ? { revision: approval.revision } : {}), content_hash };
}

function intervalOf(interval: { startMs: number; endMs: number } | undefined) {
  if (!interval) return {};
  const { startMs, endMs } = interval;
  return {
    valid_from: isoMs(startMs),
    ...(endMs < FOREVER ? { valid_until: isoMs(endMs) } : {}),
  };
}

function ontologyOf(reads: Reads, workspace: string, known: Known) {
  const row = versionAt(reads, workspace, known);
  return row
    ? {
        ontology_version: row['version'] as number,
        ontology_sha256: row['sha256'] as string,
      }
    : { ontology_version: 0 };
}

/** Each source once, in the order in which it is quoted. */
function digestsOf(
  reads: Reads,
  workspace: string,
  evidence: readonly { source_id: string }[],
): { source_id: string; sha256: string }[] {
  return [...new Set(evidence.map((e) => e.source_id))].flatMap((source_id) => {
    const source = sourceView(reads, workspace, source_id);
    return source ? [{ source_id, sha256: source.sha256 }] : [];
  });
}

/** Nothing of a reason that was erased, or whose key is not here. */
function reasonOf(reason: string) {
  return isHidden(reason) ? {} : { reason_sha256: sha256(reason) };
}
