import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const role = t.Union([
  t.Literal('member'),
  t.Literal('approver'),
  t.Literal('admin'),
  t.Literal('owner'),
]);
const kind = t.Union([t.Literal('person'), t.Literal('agent'), t.Literal('service')]);

/** Stream `workspace-<id>`: who belongs to a workspace, with which power, through which credentials. */
const vocabulary = {
  WorkspaceCreated: {
    version: 1,
    schema: t.Object({
      name: t.String(),
      organisation: t.Object({ id: t.String(), name: t.String() }),
      mode: t.Union([t.Literal('reviewed'), t.Literal('peer')]),
      /** IANA zone in which a date without a time is read. */
      zone: t.String(),
    }),
  },
  MemberAdded: {
    version: 1,
    schema: t.Object({ principal: t.String(), kind, name: t.String(), role }),
  },
  CredentialIssued: {
    version: 1,
    schema: t.Object({
      /** Public part of the key. */
      short: t.String(),
      principal: t.String(),
      /** SHA-256 of the secret part; the secret itself is stored nowhere. */
      secret_sha256: t.String(),
    }),
  },
  CredentialRevoked: {
    version: 1,
    schema: t.Object({ short: t.String(), reason: t.String() }),
  },
} as const;

export const workspaceCodec = codec(vocabulary);
export type WorkspaceEvent = EventOf<typeof vocabulary>;
export type WorkspaceVocabulary = typeof vocabulary;
