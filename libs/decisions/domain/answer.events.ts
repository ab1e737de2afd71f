import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/**
 * Stream `answer-<workspace>-<key>`: an answer that was kept. The key is the hash of its request_id, or random where it was kept for
 * rating only.
 */
const vocabulary = {
  AnswerGiven: {
    version: 1,
    schema: t.Object({
      /** Absent: it is given again to nobody. */
      request_id: t.Optional(t.String()),
      /** SHA-256 of the canonical question: what the key is bound to. */
      question_sha256: t.String(),
      /** With a `call_id` where capture was on: only then it may be rated. */
      answer: t.Unknown(),
    }),
  },
  AnswerRated: {
    version: 1,
    schema: t.Object({
      /** Of one principal the latest rating counts. */
      rated_by: t.String(),
      rating: t.Union([t.Literal('correct'), t.Literal('partly'), t.Literal('incorrect')]),
      comment: t.Optional(t.String()),
    }),
  },
} as const;

export const answerCodec = codec(vocabulary);
export type AnswerEvent = EventOf<typeof vocabulary>;
export type Rating = Omit<Extract<AnswerEvent, { type: 'AnswerRated' }>['data'], 'rated_by'>;
