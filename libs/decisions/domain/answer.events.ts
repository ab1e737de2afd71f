import type { Json } from '#kernel/json.js';
import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/**
 * What a receipt says of a kept answer, beside its question. Names no text and no person but approvers by their ids, so that it stays
 * readable when the answer is erased.
 */
const attested = t.Object({
  /** SHA-256 of the canonical JSON of the answer as it was given, without `receipt`. */
  answer_sha256: t.String(),
  state: t.String(),
  /** Id of the topic that was understood. */
  topic: t.Optional(t.String()),
  /** Of the decision. */
  scope: t.Optional(t.Record(t.String(), t.String())),
  decision: t.Optional(
    t.Object({ id: t.String(), revision: t.Integer(), content_hash: t.String() }),
  ),
  /** Instants between which the decision held, as far as was known; without an end it was open. */
  valid_from: t.Optional(t.String()),
  valid_until: t.Optional(t.String()),
  as_of: t.String(),
  /** As it was asked: an instant, a date or a position. */
  known_at: t.Optional(t.String()),
  ontology_version: t.Integer(),
  /** Absent while no version was active. */
  ontology_sha256: t.Optional(t.String()),
  /** Sources that the answer quotes, with the SHA-256 of their texts. */
  evidence: t.Array(t.Object({ source_id: t.String(), sha256: t.String() })),
  /** Principals who approved the decision. */
  approvers: t.Array(t.String()),
  /** The `call_id` of the answer, where capture was on. */
  execution_id: t.Optional(t.String()),
});

/**
 * Stream `answer-<workspace>-<key>`: an answer that was kept. The key is the hash of its request_id, or random where it was kept for
 * rating only.
 */
const vocabulary = {
  AnswerGiven: {
    version: 2,
    schema: t.Object({
      /** Absent: it is given again to nobody. */
      request_id: t.Optional(t.String()),
      /** SHA-256 of the canonical question: what the key is bound to. */
      question_sha256: t.String(),
      /** The question that was hashed: without request_id, at_least and receipt. Absent in version 1. Personal, like the answer. */
      asked: t.Optional(t.Unknown()),
      /** With a `call_id` where capture was on: only then it may be rated. */
      answer: t.Unknown(),
      /** Absent in version 1. */
      attested: t.Optional(attested),
      /** Ids of the keys of every text that the answer holds. */
      keys: t.Optional(t.Array(t.String())),
    }),
    upcasts: { 1: (given: Json) => given },
    personal: ['asked', 'answer'],
  },
  AnswerRated: {
    version: 2,
    schema: t.Object({
      /** Of one principal the latest rating counts. */
      rated_by: t.String(),
      rating: t.Union([t.Literal('correct'), t.Literal('partly'), t.Literal('incorrect')]),
      comment: t.Optional(t.String()),
      /** Those of the answer. */
      keys: t.Optional(t.Array(t.String())),
    }),
    upcasts: { 1: (rated: Json) => rated },
    remarks: ['comment'],
  },
} as const;

export const answerCodec = codec(vocabulary);
export type AnswerEvent = EventOf<typeof vocabulary>;
export type Rating = Omit<
  Extract<AnswerEvent, { type: 'AnswerRated' }>['data'],
  'rated_by' | 'keys'
>;
export type Attested = Static<typeof attested>;
