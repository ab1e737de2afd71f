import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';
import { request } from './repetition.js';

export const kind = t.Union([t.Literal('person'), t.Literal('agent'), t.Literal('service')]);
const mode = t.Union([t.Literal('reviewed'), t.Literal('peer')]);
const identity = t.Object({ principal: t.String(), issuer: t.String(), subject: t.String() });

/** Stream `organisation-<id>`: its rules, its owners, and everybody and everything that acts in its workspaces. */
const vocabulary = {
  OrganisationCreated: {
    version: 1,
    schema: t.Object({
      name: t.String(),
      mode,
      four_eyes: t.Boolean(),
      approver_names: t.Boolean(),
      /** Its owners may create further organisations: that of the first start. */
      operator: t.Boolean(),
      request: t.Optional(request),
    }),
  },
  OrganisationRenamed: { version: 1, schema: t.Object({ name: t.String() }) },
  AuthorityModeSet: { version: 1, schema: t.Object({ mode }) },
  FourEyesSet: { version: 1, schema: t.Object({ required: t.Boolean() }) },
  ApproverNamesSet: { version: 1, schema: t.Object({ shown: t.Boolean() }) },
  PrincipalRegistered: {
    version: 1,
    schema: t.Object({
      /** Random or chosen by the server; says nothing of the person. */
      principal: t.String(),
      kind,
      name: t.String(),
      request: t.Optional(request),
    }),
  },
  PrincipalDeactivated: {
    version: 1,
    schema: t.Object({ principal: t.String(), reason: t.String() }),
  },
  /** Who presents a token of `issuer` for `subject` is this person. */
  IdentityLinked: { version: 1, schema: identity },
  IdentityUnlinked: { version: 1, schema: identity },
  OwnerAdded: { version: 1, schema: t.Object({ principal: t.String() }) },
  OwnerRemoved: { version: 1, schema: t.Object({ principal: t.String() }) },
} as const;

export const organisationCodec = codec(vocabulary);
export type OrganisationEvent = EventOf<typeof vocabulary>;
