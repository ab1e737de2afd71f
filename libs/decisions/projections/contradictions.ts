import type { RecordedEvent } from '#event-store/event-store.js';
import { canonicalJson, sha256, type Json } from '#kernel/json.js';
import type { Reads } from '#projections/read-database.js';
import type { ReceiptPredicate } from '#transparency/receipt.js';
import { answerCodec } from '../domain/answer.events.js';
import { topicOf } from '../domain/claim.js';
import { topicCodec } from '../domain/topic.events.js';
import { approvalOf, resolutionOf, type Attestable } from './attesting.js';

/** A member of a receipt's predicate that says otherwise than the ledger. Undefined: one of the two says nothing. */
export interface Contradiction {
  path: string;
  stated: unknown;
  recorded: unknown;
}

type Facts = Record<string, unknown>;

/** Members that say where the event stands: for the proof to check, or of one engine only. */
const PLACE: readonly string[] = ['origin', 'workspace', 'index', 'position'];
/** Of a text that cannot be read any more there is no hash to compare with. */
const HASH_OF_TEXT = 'reason_sha256';
/** Kinds of receipts for events of this context. */
const KINDS: readonly unknown[] = ['answer', 'approval', 'conflict_resolution'];

/**
 * Where a receipt says otherwise than the event that it names. `reads`: read models of a ledger that has the event; without them only
 * what the event itself holds is compared. Of an event of another context only the header is.
 */
export function contradictions(
  predicate: ReceiptPredicate,
  event: RecordedEvent,
  reads?: Reads,
): Contradiction[] {
  const stated = { ...predicate } as unknown as Facts;
  const { facts, whole } = factsOf(event, reads);
  const recorded: Facts = {
    event_id: event.id,
    event_type: event.type,
    recorded_at: event.recordedAt,
    ...facts,
  };
  const members = Object.keys(recorded);
  // What is stated beyond what is recorded is a contradiction too, where all that may be stated is known.
  if (whole) members.push(...Object.keys(stated).filter((m) => !PLACE.includes(m)));
  else if (!facts && KINDS.includes(stated['kind'])) members.push('kind');
  return [...new Set(members)]
    .filter((member) => member !== HASH_OF_TEXT || recorded[member] !== undefined)
    .map((path) => ({ path, stated: valueAt(stated, path), recorded: recorded[path] }))
    .filter((member) => textOf(member.stated) !== textOf(member.recorded));
}

function valueAt(stated: unknown, path: string): unknown {
  return path.split('.').reduce((value, name) => (value as Facts | undefined)?.[name], stated);
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

/** `whole`: beside these members and the place of the event nothing may be stated. */
interface Known {
  facts: Facts | undefined;
  whole: boolean;
}

function factsOf(event: RecordedEvent, reads: Reads | undefined): Known {
  const data = JSON.parse(event.payload) as Json;
  const given = answerCodec.decode(event.type, event.version, data);
  if (given?.type !== 'AnswerGiven') return topicFacts(event, data, reads);
  const { question_sha256, attested } = given.data;
  const of = attested ?? unattested(given.data.answer);
  return { facts: { kind: 'answer', question_sha256, ...of }, whole: of !== undefined };
}

/** Of an answer that was kept before receipts were, in clear; nothing of a sealed one. */
function unattested(answer: unknown): Facts | undefined {
  if (typeof answer !== 'object') return undefined;
  return { answer_sha256: sha256(canonicalJson(answer)) };
}

function topicFacts(event: RecordedEvent, data: Json, reads: Reads | undefined): Known {
  const decided = topicCodec.decode(event.type, event.version, data);
  const { revision, workspace, actor } = event;
  const approvers = [actor.principal];
  switch (decided?.type) {
    case 'DecisionApproved': {
      const { decision_id: id, content_hash, starts_at, ends_at } = decided.data;
      return withRecord(event, reads && approvalOf(reads, workspace, id), {
        kind: 'approval',
        state: 'approved',
        topic: topicOf(id),
        decision: { id, revision, content_hash },
        valid_from: starts_at,
        valid_until: ends_at,
        approvers,
      });
    }
    case 'ConflictResolved':
    case 'ConflictDismissed': {
      const { conflict_id: id, ...how } = decided.data;
      const record = reads && resolutionOf(reads, workspace, id);
      return withRecord(event, record, {
        kind: 'conflict_resolution',
        state: decided.type === 'ConflictResolved' ? 'resolved' : 'dismissed',
        'conflict.id': id,
        'decision.id': 'winner' in how ? how.winner : undefined,
        approvers,
      });
    }
    default:
      return { facts: undefined, whole: false };
  }
}

function withRecord(
  event: RecordedEvent,
  record: Attestable | string | undefined,
  facts: Facts,
): Known {
  if (typeof record !== 'object' || record.position !== event.position)
    return { facts, whole: false };
  // The event's own words last: a read model may be the lie.
  return { facts: { ...record.details, ...facts }, whole: true };
}
