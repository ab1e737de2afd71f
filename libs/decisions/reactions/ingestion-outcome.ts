import type { Sealing } from '#event-store/sealing.js';
import type { Refusal } from '#kernel/refusal.js';
import { ERASED } from '#kernel/sealing.js';
import { reasonOfKnown } from '../domain/document-standing.js';
import { keysOfRecord, type Manifest, type PlannedClaim } from '../domain/ingestion-plan.js';
import type { OutcomeEvent } from '../domain/ingestion.events.js';
import { FOUR_EYES } from '../domain/topic-refusals.js';
import type { Decision } from '../domain/topic-state.js';
import type { TopicEvent } from '../domain/topic.events.js';

/** What the events of a claim's append mean for its record. */
export function outcomeOf(
  place: { index: number; topic: string; path?: string; decision_id: string },
  events: readonly TopicEvent[],
  held: { decision: Decision | undefined; mine: boolean },
  reasons: string[],
): OutcomeEvent {
  const conflict = events.find((e) => e.type === 'ConflictOpened');
  if (conflict)
    return {
      type: 'IngestionRecordStored',
      data: { ...place, note: `conflict_opened ${conflict.data.conflict_id}` },
    };
  if (events.some((e) => e.type === 'DecisionConfirmed'))
    return { type: 'IngestionRecordStored', data: { ...place, note: 'confirms_head' } };
  if (events.some((e) => e.type === 'DecisionApproved'))
    return { type: 'IngestionRecordStored', data: place };
  const { decision, mine } = held;
  if (decision && !mine)
    return {
      type: 'IngestionRecordSkipped',
      data: { ...place, reason: reasonOfKnown(decision) },
    };
  return decision?.status === 'candidate'
    ? { type: 'IngestionRecordQueued', data: { ...place, reasons } }
    : { type: 'IngestionRecordStored', data: place };
}

/** An outcome with the keys of its record; of what was erased meanwhile nothing but that. */
export function sealedOutcome(
  outcome: OutcomeEvent,
  manifest: Manifest,
  sealing: Sealing,
): OutcomeEvent {
  const { index, topic } = outcome.data;
  const keys = keysOfRecord(manifest, index);
  if (!sealing.erased(keys)) return { ...outcome, data: { ...outcome.data, keys } } as OutcomeEvent;
  const place = { index, ...(topic === undefined ? {} : { topic }) };
  return { type: 'IngestionRecordSkipped', data: { ...place, reason: ERASED } };
}

/** Why a claim waits that was refused: the word, and what it means here. */
export function reasonOfRefusal({ error, message }: Refusal): string {
  return error === FOUR_EYES ? error : `${error}: ${message}`;
}

/** A merge that is under way: tried again it finds the decisions where they stand then. */
export function mayPass({ kind, error }: Refusal): boolean {
  return kind === 'unavailable' || error === 'topic_merged';
}

export function skippedFor({ index, path, topic }: PlannedClaim, refusal: Refusal): OutcomeEvent {
  return {
    type: 'IngestionRecordSkipped',
    data: {
      index,
      topic: topic.id,
      ...(path === undefined ? {} : { path }),
      reason: reasonOfRefusal(refusal),
    },
  };
}
