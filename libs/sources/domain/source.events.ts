import type { Json } from '#kernel/json.js';
import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/** Stream `source-<workspace>-<source>`: one captured version of one text. The text itself is a blob, named by its hash. */
const vocabulary = {
  SourceCaptured: {
    version: 2,
    schema: t.Object({
      source_id: t.String(),
      /** Lower-case hex SHA-256 of the text's UTF-8 bytes. */
      sha256: t.String(),
      /** SHA-256 of the blob that holds the text, where it is sealed. Absent: the blob is the text. */
      blob: t.Optional(t.String()),
      /** Whom the text is about, an opaque id. Absent: the source is a subject of its own. */
      subject: t.Optional(t.String()),
      /** Ids of the keys that seal the text and its description. Absent where nothing is sealed. */
      keys: t.Optional(t.Array(t.String())),
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
    upcasts: { 1: (captured: Json) => captured },
    personal: ['title', 'document', 'uri', 'author'],
  },
} as const;

export const sourceCodec = codec(vocabulary);
export type SourceEvent = EventOf<typeof vocabulary>;
