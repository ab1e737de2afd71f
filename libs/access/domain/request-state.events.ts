import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/** Stream `requeststate-<workspace>-<id>`: the one use of a request state that a client was handed (ADR 15). */
const vocabulary = {
  RequestStateSpent: {
    version: 1,
    schema: t.Object({
      id: t.String(),
      tool: t.String(),
      /** Key of the question whose answer was taken with it. */
      question: t.String(),
    }),
  },
} as const;

export const requestStateCodec = codec(vocabulary);
export type RequestStateEvent = EventOf<typeof vocabulary>;
