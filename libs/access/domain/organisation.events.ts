import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';
import { keys, request, unsealed } from './repetition.js';

export const kind = t.Union([t.Literal('person'), t.Literal('agent'), t.Literal('service')]);
const mode = t.Union([t.Literal('reviewed'), t.Literal('peer')]);
const identity = t.Object({ principal: t.String(), issuer: t.String(), subject: t.String() });

/**
 * Stream `organisation-<id>`: its rules, its owners, and everybody and everything that acts in its workspaces. What is recorded of a
 * principal is sealed with his key in the scope of the organisation.
 */
const vocabulary = {
  OrganisationCreated: {
    version: 2,
    schema: t.Object({
      name: t.String(),
      mode,
      four_eyes: t.Boolean(),
      approver_names: t.Boolean(),
      /** Its owners may create further organisations: that of the first start. */
      operator: t.Boolean(),
      request: t.Optional(request),
      keys,
    }),
    upcasts: unsealed,
    personal: ['request.sha256'],
  },
  OrganisationRenamed: { version: 1, schema: t.Object({ name: t.String() }) },
  AuthorityModeSet: { version: 1, schema: t.Object({ mode }) },
  FourEyesSet: { version: 1, schema: t.Object({ required: t.Boolean() }) },
  ApproverNamesSet: { version: 1, schema: t.Object({ shown: t.Boolean() }) },
  PrincipalRegistered: {
    version: 2,
    schema: t.Object({
      /** Random or chosen by the server; says nothing of the person. */
      principal: t.String(),
      kind,
      name: t.String(),
      request: t.Optional(request),
      keys,
    }),
    upcasts: unsealed,
    personal: ['name', 'request.sha256'],
  },
  PrincipalDeactivated: {
    version: 2,
    schema: t.Object({ principal: t.String(), reason: t.String(), keys }),
    upcasts: unsealed,
    remarks: ['reason'],
  },
  /** Who presents a token of `issuer` for `subject` is this person. */
  IdentityLinked: { version: 1, schema: identity },
  IdentityUnlinked: { version: 1, schema: identity },
  OwnerAdded: { version: 1, schema: t.Object({ principal: t.String() }) },
  OwnerRemoved: { version: 1, schema: t.Object({ principal: t.String() }) },
} as const;

export const organisationCodec = codec(vocabulary);
export type OrganisationEvent = EventOf<typeof vocabulary>;
