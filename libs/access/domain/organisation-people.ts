import type { PrincipalKind } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { principalKey } from '#kernel/sealing.js';
import type { OrganisationEvent } from './organisation.events.js';
import {
  identityKey,
  type Identity,
  type OpenOrganisation,
  type Principal,
} from './organisation-state.js';
import { isRepeated, type Request } from './repetition.js';
import { unknown } from './refusals.js';

export interface NewPrincipal {
  /** Id of the organisation: his key is derived from it. */
  organisation: string;
  principal: string;
  kind: PrincipalKind;
  name: string;
  identity?: Identity | undefined;
  request?: Request | undefined;
}

/** Refused before any write; documented in docs/architecture.md. */
export const MAX_PRINCIPALS = 10_000;

export function register(given: NewPrincipal, now: OpenOrganisation): readonly OrganisationEvent[] {
  if (isRepeated(given.request, now.requests)) return [];
  if (now.principals.has(given.principal))
    throw new Refusal('conflict', 'principal_exists', 'the principal exists already', {
      path: 'principal',
    });
  if (now.principals.size >= MAX_PRINCIPALS)
    throw new Refusal(
      'conflict',
      'too_many_principals',
      `an organisation has at most ${MAX_PRINCIPALS} principals, deactivated ones included`,
    );
  const linked = given.identity ? linkEvents(given, given.identity, now) : [];
  return [registered(given), ...linked];
}

export function registered(given: NewPrincipal): OrganisationEvent {
  const { organisation, principal, kind, name, request } = given;
  return {
    type: 'PrincipalRegistered',
    data: {
      principal,
      kind,
      name,
      ...(request === undefined ? {} : { request }),
      keys: [principalKey(organisation, principal)],
    },
  };
}

export function deactivate(
  { organisation, principal, reason }: { organisation: string; principal: string; reason: string },
  now: OpenOrganisation,
): readonly OrganisationEvent[] {
  const known = now.principals.get(principal);
  if (!known) throw unknown('principal', 'principal');
  if (!known.active) return [];
  const owner: OrganisationEvent[] = now.owners.has(principal)
    ? [{ type: 'OwnerRemoved', data: { principal } }]
    : [];
  if (owner.length > 0) assertNotLastOwner(principal, now);
  const keys = [principalKey(organisation, principal)];
  return [...owner, { type: 'PrincipalDeactivated', data: { principal, reason, keys } }];
}

export function link(
  principal: string,
  identity: Identity,
  now: OpenOrganisation,
): readonly OrganisationEvent[] {
  return linkEvents({ principal, ...activePrincipal(principal, now) }, identity, now);
}

/** An identity is one person's in an organisation, or a token would not say who is there. */
function linkEvents(
  { principal, kind }: Pick<NewPrincipal, 'principal' | 'kind'>,
  identity: Identity,
  now: OpenOrganisation,
): readonly OrganisationEvent[] {
  if (kind !== 'person')
    throw new Refusal('conflict', 'not_a_person', 'only people sign in with an identity', {
      path: 'identity',
      issues: [{ path: 'identity', problem: `is for people; this is an ${kind}` }],
      fix: 'give agents and services a key',
    });
  const holder = now.identities.get(identityKey(identity));
  if (holder === principal) return [];
  if (holder !== undefined)
    throw new Refusal('conflict', 'identity_taken', 'the identity belongs to somebody else here', {
      path: 'identity',
      issues: [{ path: 'identity', problem: `is linked to ${holder}` }],
      fix: 'unlink it there first, or add that principal as a member',
    });
  return [identityEvent('IdentityLinked', principal, identity)];
}

export function identityEvent(
  type: 'IdentityLinked' | 'IdentityUnlinked',
  principal: string,
  { issuer, subject }: Identity,
): OrganisationEvent {
  return { type, data: { principal, issuer, subject } };
}

export function addOwner(principal: string, now: OpenOrganisation): readonly OrganisationEvent[] {
  if (activePrincipal(principal, now).kind !== 'person')
    throw new Refusal('conflict', 'not_a_person', 'only a person owns an organisation', {
      path: 'principal',
    });
  return now.owners.has(principal) ? [] : [{ type: 'OwnerAdded', data: { principal } }];
}

function activePrincipal(id: string, now: OpenOrganisation): Principal {
  const principal = now.principals.get(id);
  if (principal?.active !== true) throw unknown('principal', 'principal');
  return principal;
}

export function assertNotLastOwner(principal: string, now: OpenOrganisation): void {
  if (now.owners.size > 1 || !now.owners.has(principal)) return;
  throw new Refusal('conflict', 'last_owner', 'an organisation keeps at least one owner', {
    path: 'principal',
    issues: [{ path: 'principal', problem: 'is the last owner of the organisation' }],
    fix: 'make somebody else an owner first',
  });
}
