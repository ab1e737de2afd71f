import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/** Stream `answer-<workspace>-<hash of the request_id>`: an answer that was given and will be given again. */
const vocabulary = {
  AnswerGiven: {
    version: 1,
    schema: t.Object({
      request_id: t.String(),
      /** SHA-256 of the canonical question: what the key is bound to. */
      question_sha256: t.String(),
      answer: t.Unknown(),
    }),
  },
} as const;

export const answerCodec = codec(vocabulary);
export type AnswerEvent = EventOf<typeof vocabulary>;
