import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/** Stream `source-<workspace>-<source>`: one captured version of one text. The text itself is a blob, named by its hash. */
const vocabulary = {
  SourceCaptured: {
    version: 1,
    schema: t.Object({
      source_id: t.String(),
      /** Lower-case hex SHA-256 of the text's UTF-8 bytes. */
      sha256: t.String(),
      bytes: t.Integer(),
      title: t.String(),
      type: t.String(),
      /** What the versions of one document have in common: `<collection>/<path>`, or the address. */
      document: t.Optional(t.String()),
      uri: t.Optional(t.String()),
      author: t.Optional(t.String()),
      /** As written by the caller. */
      occurred_at: t.Optional(t.String()),
    }),
  },
} as const;

export const sourceCodec = codec(vocabulary);
export type SourceEvent = EventOf<typeof vocabulary>;
