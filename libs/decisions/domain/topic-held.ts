import { isHidden } from '#kernel/sealing.js';
import { unread } from './claim.js';
import { FOREVER, isoMs } from '#kernel/time.js';
import { isApproved, saysNothing, type Approved, type Decision } from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

export type HeldData = Extract<TopicEvent, { type: 'TopicAbsorbed' }>['data']['decisions'][number];

/** A decision as an event carries it. */
export function dataOf(decision: Decision): HeldData {
  const { effectiveFrom, effectiveTo, decidedAt, documentKey } = decision;
  return {
    decision_id: decision.id,
    meaning: decision.meaning,
    // Of an erased one there is nothing left to seal.
    ...(decision.keys.length === 0 || saysNothing(decision) ? {} : { keys: [...decision.keys] }),
    scope: decision.scope,
    content_hash: decision.contentHash,
    supersedes: [...decision.supersedes],
    ...(effectiveFrom === undefined ? {} : { effective_from: effectiveFrom }),
    ...(effectiveTo === undefined ? {} : { effective_to: effectiveTo }),
    ...(decidedAt === undefined ? {} : { decided_at: decidedAt }),
    ...(documentKey === undefined ? {} : { document_key: documentKey }),
    origin: decision.origin,
    proposed_by: decision.proposedBy,
    status: decision.status,
    ...(isApproved(decision) ? spanOf(decision) : {}),
    ...byOf(decision),
  };
}

function spanOf({ startMs, endMs }: Approved) {
  return { starts_at: isoMs(startMs), ...(endMs === FOREVER ? {} : { ends_at: isoMs(endMs) }) };
}

function byOf(decision: Decision): { by?: string } {
  if (decision.status === 'superseded') return { by: decision.by };
  if (decision.status === 'confirming') return { by: decision.of };
  if (decision.status === 'retracted' && decision.replacedBy !== undefined)
    return { by: decision.replacedBy };
  return {};
}

export function heldFrom(data: HeldData): Decision {
  const held = {
    id: data.decision_id,
    meaning: isHidden(data.meaning) ? unread(data.decision_id) : data.meaning,
    keys: data.keys ?? [],
    scope: data.scope,
    contentHash: data.content_hash,
    supersedes: data.supersedes,
    effectiveFrom: data.effective_from,
    effectiveTo: data.effective_to,
    decidedAt: data.decided_at,
    origin: data.origin,
    documentKey: data.document_key,
    proposedBy: data.proposed_by,
  };
  const span = {
    startMs: Date.parse(data.starts_at ?? ''),
    endMs: data.ends_at === undefined ? FOREVER : Date.parse(data.ends_at),
  };
  const { status, by } = data;
  switch (status) {
    case 'approved':
    case 'revoked':
      return { ...held, status, ...span };
    case 'superseded':
      return { ...held, status, by: by ?? '', ...span };
    case 'confirming':
      return { ...held, status, of: by ?? '' };
    case 'retracted':
      return { ...held, status, replacedBy: by };
    case 'candidate':
    case 'rejected':
      return { ...held, status };
  }
}
