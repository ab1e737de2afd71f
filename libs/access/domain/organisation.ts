import type { AuthorityMode } from '#kernel/context.js';
import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { principalKey } from '#kernel/sealing.js';
import type { OrganisationEvent } from './organisation.events.js';
import {
  addOwner,
  assertNotLastOwner,
  deactivate,
  identityEvent,
  link,
  register,
  registered,
  type NewPrincipal,
} from './organisation-people.js';
import {
  evolveOrganisation,
  identityKey,
  type Identity,
  type OpenOrganisation,
  type Organisation,
} from './organisation-state.js';
import { isRepeated, type Request } from './repetition.js';
import { unknown } from './refusals.js';

/** Only what is given changes. */
export interface OrganisationChange {
  name?: string | undefined;
  mode?: AuthorityMode | undefined;
  fourEyes?: boolean | undefined;
  approverNames?: boolean | undefined;
}

export type OrganisationCommand =
  | {
      type: 'Create';
      name: string;
      mode: AuthorityMode;
      operator: boolean;
      owner: NewPrincipal;
      request?: Request | undefined;
    }
  | { type: 'Change'; change: OrganisationChange }
  | ({ type: 'Register' } & NewPrincipal)
  | { type: 'Deactivate'; organisation: string; principal: string; reason: string }
  | { type: 'LinkIdentity'; principal: string; identity: Identity }
  | { type: 'UnlinkIdentity'; principal: string; identity: Identity }
  | { type: 'AddOwner'; principal: string }
  | { type: 'RemoveOwner'; principal: string };

function decide(
  command: OrganisationCommand,
  organisation: Organisation,
): readonly OrganisationEvent[] {
  if (command.type === 'Create') return create(command, organisation);
  if (organisation.status === 'absent') throw unknown('organisation', 'organisation');
  switch (command.type) {
    case 'Change':
      return change(command.change, organisation);
    case 'Register':
      return register(command, organisation);
    case 'Deactivate':
      return deactivate(command, organisation);
    case 'LinkIdentity':
      return link(command.principal, command.identity, organisation);
    case 'UnlinkIdentity':
      return organisation.identities.get(identityKey(command.identity)) === command.principal
        ? [identityEvent('IdentityUnlinked', command.principal, command.identity)]
        : [];
    case 'AddOwner':
      return addOwner(command.principal, organisation);
    case 'RemoveOwner':
      if (!organisation.principals.has(command.principal)) throw unknown('principal', 'principal');
      if (!organisation.owners.has(command.principal)) return [];
      assertNotLastOwner(command.principal, organisation);
      return [{ type: 'OwnerRemoved', data: { principal: command.principal } }];
    default:
      return unreachable(command);
  }
}

function create(
  { name, mode, operator, owner, request }: Extract<OrganisationCommand, { type: 'Create' }>,
  organisation: Organisation,
): readonly OrganisationEvent[] {
  if (organisation.status === 'open') {
    if (isRepeated(request, organisation.requests)) return [];
    throw new Refusal('conflict', 'organisation_exists', 'the organisation exists already');
  }
  return [
    {
      type: 'OrganisationCreated',
      data: {
        name,
        mode,
        four_eyes: false,
        approver_names: false,
        operator,
        // The request names him.
        ...(request === undefined
          ? {}
          : { request, keys: [principalKey(owner.organisation, owner.principal)] }),
      },
    },
    registered(owner),
    ...(owner.identity ? [identityEvent('IdentityLinked', owner.principal, owner.identity)] : []),
    { type: 'OwnerAdded', data: { principal: owner.principal } },
  ];
}

function change(change: OrganisationChange, now: OpenOrganisation): readonly OrganisationEvent[] {
  const { name, mode, fourEyes, approverNames } = change;
  const events: OrganisationEvent[] = [];
  if (name !== undefined && name !== now.name)
    events.push({ type: 'OrganisationRenamed', data: { name } });
  if (mode !== undefined && mode !== now.mode)
    events.push({ type: 'AuthorityModeSet', data: { mode } });
  if (fourEyes !== undefined && fourEyes !== now.fourEyes)
    events.push({ type: 'FourEyesSet', data: { required: fourEyes } });
  if (approverNames !== undefined && approverNames !== now.approverNames)
    events.push({ type: 'ApproverNamesSet', data: { shown: approverNames } });
  return events;
}

export const organisationDecider: Decider<Organisation, OrganisationCommand, OrganisationEvent> = {
  initial: () => ({ status: 'absent' }),
  decide,
  evolve: evolveOrganisation,
};
