import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';
import { kind } from './organisation.events.js';
import { keys, request, unsealed } from './repetition.js';

const role = t.Union([
  t.Literal('member'),
  t.Literal('approver'),
  t.Literal('admin'),
  t.Literal('owner'),
]);
const instant = t.Union([t.String(), t.Null()]);

/** Stream `workspace-<id>`: who belongs to a workspace, with which power, through which keys. Sealed as in the organisation's stream. */
const vocabulary = {
  WorkspaceCreated: {
    version: 2,
    schema: t.Object({
      name: t.String(),
      /** Id of the organisation that it belongs to, for ever. */
      organisation: t.String(),
      /** IANA zone in which a date without a time is read. */
      zone: t.String(),
      request: t.Optional(request),
      keys,
    }),
    upcasts: unsealed,
    personal: ['request.sha256'],
  },
  WorkspaceRenamed: { version: 1, schema: t.Object({ name: t.String() }) },
  AnswerCaptureSet: { version: 1, schema: t.Object({ enabled: t.Boolean() }) },
  MemberAdded: {
    version: 2,
    schema: t.Object({ principal: t.String(), kind, role, request: t.Optional(request), keys }),
    upcasts: unsealed,
    personal: ['request.sha256'],
  },
  MemberRoleSet: { version: 1, schema: t.Object({ principal: t.String(), role }) },
  MemberRemoved: {
    version: 2,
    schema: t.Object({ principal: t.String(), reason: t.String(), keys }),
    upcasts: unsealed,
    remarks: ['reason'],
  },
  CredentialIssued: {
    version: 2,
    schema: t.Object({
      /** Public part of the key; names it for life. */
      short: t.String(),
      principal: t.String(),
      /** Hash of the secret part, with its method: see domain/api-key.ts. The secret itself is stored nowhere. */
      secret: t.String(),
      label: t.String(),
      /** Toolsets that the key is limited to; null: none. */
      toolsets: t.Union([t.Array(t.String()), t.Null()]),
      /** Instant from which it is refused; null: never by itself. */
      expires_at: instant,
      request: t.Optional(request),
      keys,
    }),
    upcasts: unsealed,
    personal: ['label', 'request.sha256'],
  },
  CredentialRerolled: {
    version: 1,
    schema: t.Object({
      short: t.String(),
      secret: t.String(),
      /** Instant from which the secret before this one is refused. */
      former_until: t.String(),
      expires_at: instant,
      request: t.Optional(request),
    }),
  },
  CredentialRevoked: {
    version: 2,
    schema: t.Object({ short: t.String(), reason: t.String(), keys }),
    upcasts: unsealed,
    remarks: ['reason'],
  },
} as const;

export const workspaceCodec = codec(vocabulary);
export type WorkspaceEvent = EventOf<typeof vocabulary>;
