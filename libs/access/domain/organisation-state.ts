import type { AuthorityMode, PrincipalKind } from '#kernel/context.js';
import { unreachable } from '#kernel/decider.js';
import type { OrganisationEvent } from './organisation.events.js';
import { remember, type Requests } from './repetition.js';

/** A person at an OpenID provider. */
export interface Identity {
  issuer: string;
  subject: string;
}

/** Without his name: nothing is decided by what may be erased. */
export interface Principal {
  kind: PrincipalKind;
  active: boolean;
}

export type Organisation =
  | { status: 'absent' }
  | {
      status: 'open';
      name: string;
      mode: AuthorityMode;
      fourEyes: boolean;
      approverNames: boolean;
      operator: boolean;
      requests: Requests;
      owners: Set<string>;
      principals: Map<string, Principal>;
      /** Who is behind an identity, by `identityKey`. */
      identities: Map<string, string>;
    };

export type OpenOrganisation = Extract<Organisation, { status: 'open' }>;

export const identityKey = ({ issuer, subject }: Identity): string =>
  JSON.stringify([issuer, subject]);

export function evolveOrganisation(
  organisation: Organisation,
  event: OrganisationEvent,
): Organisation {
  if (event.type === 'OrganisationCreated') {
    const { name, mode, four_eyes, approver_names, operator, request } = event.data;
    return {
      status: 'open',
      name,
      mode,
      fourEyes: four_eyes,
      approverNames: approver_names,
      operator,
      requests: new Map(request ? [[request.id, request.sha256]] : []),
      owners: new Set(),
      principals: new Map(),
      identities: new Map(),
    };
  }
  if (organisation.status === 'open') apply(organisation, event);
  return organisation;
}

function apply(
  now: OpenOrganisation,
  event: Exclude<OrganisationEvent, { type: 'OrganisationCreated' }>,
): void {
  switch (event.type) {
    case 'OrganisationRenamed':
      now.name = event.data.name;
      return;
    case 'AuthorityModeSet':
      now.mode = event.data.mode;
      return;
    case 'FourEyesSet':
      now.fourEyes = event.data.required;
      return;
    case 'ApproverNamesSet':
      now.approverNames = event.data.shown;
      return;
    case 'PrincipalRegistered': {
      const { principal, kind, request } = event.data;
      now.principals.set(principal, { kind, active: true });
      remember(now.requests, request);
      return;
    }
    case 'PrincipalDeactivated': {
      const principal = now.principals.get(event.data.principal);
      if (principal) principal.active = false;
      return;
    }
    case 'IdentityLinked':
      now.identities.set(identityKey(event.data), event.data.principal);
      return;
    case 'IdentityUnlinked':
      now.identities.delete(identityKey(event.data));
      return;
    case 'OwnerAdded':
      now.owners.add(event.data.principal);
      return;
    case 'OwnerRemoved':
      now.owners.delete(event.data.principal);
      return;
    default:
      unreachable(event);
  }
}
