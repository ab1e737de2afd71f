import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const Vkey = t.String({ minLength: 1 });

/** Stream `checkpoint-<workspace>`: what was signed of the workspace's tree, and with which keys (ADR 13). */
const vocabulary = {
  /**
   * From here on `vkey` signs. With `replaces` the key before it was lost: nothing but the operator's word leads to the new one, and who
   * trusts the former has to be told the new one in person.
   */
  LogOpened: {
    version: 1,
    schema: t.Object({
      origin: t.String({ minLength: 1 }),
      vkey: Vkey,
      replaces: t.Optional(Vkey),
      reason: t.Optional(t.String({ minLength: 1 })),
    }),
  },
  CheckpointSigned: {
    version: 1,
    schema: t.Object({
      size: t.Integer({ minimum: 1 }),
      /** Base64. */
      root: t.String({ minLength: 1 }),
      /** The signed note, which says the same. */
      note: t.String({ minLength: 1 }),
    }),
  },
  LogKeyRotated: {
    version: 1,
    schema: t.Object({
      vkey: Vkey,
      /** Names origin, former and new key; signed with the former (`signing/key-chain.ts`). */
      note: t.String({ minLength: 1 }),
    }),
  },
} as const;

export const checkpointCodec = codec(vocabulary);
export type CheckpointEvent = EventOf<typeof vocabulary>;
