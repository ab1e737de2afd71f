import { describe, expect, it } from '@jest/globals';
import { ERASED, principalKey } from '#kernel/sealing.js';
import { specification } from '#kernel/testing.js';
import { organisationDecider, type OrganisationCommand } from './organisation.js';
import type { OrganisationEvent } from './organisation.events.js';

const given = specification(organisationDecider);
const request = { id: 'r1', sha256: 'a' };
const organisation = 'o1';
/** What the events name as the key of a principal. */
const keysOf = (principal: string) => [principalKey(organisation, principal)];
const identity = { issuer: 'https://id.example.com', subject: '4711' };

const create: OrganisationCommand = {
  type: 'Create',
  name: 'Acme',
  mode: 'reviewed',
  operator: false,
  owner: { organisation, principal: 'p1', kind: 'person', name: 'Olga', identity },
};
const registered = (
  principal: string,
  kind: 'person' | 'agent' | 'service' = 'person',
): OrganisationEvent => ({
  type: 'PrincipalRegistered',
  data: { principal, kind, name: principal, keys: keysOf(principal) },
});
const linked: OrganisationEvent = {
  type: 'IdentityLinked',
  data: { principal: 'p1', ...identity },
};
const created: OrganisationEvent[] = [
  {
    type: 'OrganisationCreated',
    data: {
      name: 'Acme',
      mode: 'reviewed',
      four_eyes: false,
      approver_names: false,
      operator: false,
    },
  },
  {
    type: 'PrincipalRegistered',
    data: { principal: 'p1', kind: 'person', name: 'Olga', keys: keysOf('p1') },
  },
  linked,
  { type: 'OwnerAdded', data: { principal: 'p1' } },
];

describe('organisation', () => {
  it('comes with its first owner in one append, once', () => {
    given()
      .when(create)
      .then(...created);
    given(...created)
      .when(create)
      .thenRefused('organisation_exists');
    given()
      .when({ type: 'Change', change: { name: 'X' } })
      .thenRefused('unknown_organisation');
  });

  it('O-06, QO-12, QO-21: its mode, four eyes and approver names change each by an event of their own', () => {
    given(...created)
      .when({
        type: 'Change',
        change: { name: 'Acme', mode: 'peer', fourEyes: true, approverNames: true },
      })
      .then(
        { type: 'AuthorityModeSet', data: { mode: 'peer' } },
        { type: 'FourEyesSet', data: { required: true } },
        { type: 'ApproverNamesSet', data: { shown: true } },
      );
    given(...created)
      .when({ type: 'Change', change: { mode: 'reviewed', fourEyes: false } })
      .then();
  });

  it('keeps at least one owner, by whatever way the last one would go', () => {
    given(...created)
      .when({ type: 'RemoveOwner', principal: 'p1' })
      .thenRefused('last_owner');
    given(...created)
      .when({ type: 'Deactivate', organisation, principal: 'p1', reason: 'left' })
      .thenRefused('last_owner');
    const two: OrganisationEvent[] = [
      ...created,
      registered('p2'),
      { type: 'OwnerAdded', data: { principal: 'p2' } },
    ];
    given(...two)
      .when({ type: 'Deactivate', organisation, principal: 'p1', reason: 'left' })
      .then(
        { type: 'OwnerRemoved', data: { principal: 'p1' } },
        {
          type: 'PrincipalDeactivated',
          data: { principal: 'p1', reason: 'left', keys: keysOf('p1') },
        },
      );
    given(...two)
      .when({ type: 'RemoveOwner', principal: 'p1' })
      .then({ type: 'OwnerRemoved', data: { principal: 'p1' } });
    given(...created, registered('p2'))
      .when({ type: 'RemoveOwner', principal: 'p2' })
      .then();
    given(...created)
      .when({ type: 'RemoveOwner', principal: 'p9' })
      .thenRefused('unknown_principal');
  });

  it('is owned by active people only', () => {
    given(...created, registered('bot', 'agent'))
      .when({ type: 'AddOwner', principal: 'bot' })
      .thenRefused('not_a_person');
    given(...created)
      .when({ type: 'AddOwner', principal: 'p9' })
      .thenRefused('unknown_principal');
    given(...created, registered('p2'), {
      type: 'PrincipalDeactivated',
      data: { principal: 'p2', reason: 'left' },
    })
      .when({ type: 'AddOwner', principal: 'p2' })
      .thenRefused('unknown_principal');
  });

  it('X-9: one request registers one principal', () => {
    const register = {
      type: 'Register',
      organisation,
      principal: 'p2',
      kind: 'agent',
      name: 'Bot',
      request,
    } as const;
    const bot: OrganisationEvent = {
      type: 'PrincipalRegistered',
      data: { principal: 'p2', kind: 'agent', name: 'Bot', request, keys: keysOf('p2') },
    };
    given(...created)
      .when(register)
      .then(bot);
    given(...created, bot)
      .when(register)
      .then();
    given(...created, bot)
      .when({ ...register, request: { id: 'r1', sha256: 'b' } })
      .thenRefused('request_id_conflict');
    given(...created, bot)
      .when({ type: 'Register', organisation, principal: 'p2', kind: 'agent', name: 'Bot' })
      .thenRefused('principal_exists');
  });

  it('P2: a request whose words were erased is still done once, and the name decides nothing', () => {
    const register = { type: 'Register', organisation, principal: 'p2', kind: 'person' } as const;
    const erased: OrganisationEvent = {
      type: 'PrincipalRegistered',
      data: {
        principal: 'p2',
        kind: 'person',
        name: ERASED,
        request: { id: request.id, sha256: ERASED },
        keys: keysOf('p2'),
      },
    };
    given(...created, erased)
      .when({ ...register, name: 'Ada', request })
      .then();
    given(...created, erased)
      .when({ ...register, name: 'Ada' })
      .thenRefused('principal_exists');
  });

  it('an organisation that a request names its owner for is sealed with his key', () => {
    given()
      .when({ ...create, request })
      .thenMatches(([event]) => expect(event?.data).toMatchObject({ request, keys: keysOf('p1') }));
  });

  it('an identity is one person’s, and no agent’s', () => {
    given(...created, registered('p2'))
      .when({ type: 'LinkIdentity', principal: 'p2', identity })
      .thenRefused('identity_taken');
    given(...created)
      .when({ type: 'LinkIdentity', principal: 'p1', identity })
      .then();
    given(...created, registered('bot', 'agent'))
      .when({ type: 'LinkIdentity', principal: 'bot', identity: { ...identity, subject: '5' } })
      .thenRefused('not_a_person');
    given(...created)
      .when({
        type: 'Register',
        organisation,
        principal: 'p3',
        kind: 'service',
        name: 'S',
        identity,
      })
      .thenRefused('not_a_person');
    const unlinked: OrganisationEvent = {
      type: 'IdentityUnlinked',
      data: { principal: 'p1', ...identity },
    };
    given(...created)
      .when({ type: 'UnlinkIdentity', principal: 'p1', identity })
      .then(unlinked);
    given(...created)
      .when({ type: 'UnlinkIdentity', principal: 'p2', identity })
      .then();
    given(...created, registered('p2'), unlinked)
      .when({ type: 'LinkIdentity', principal: 'p2', identity })
      .then({ type: 'IdentityLinked', data: { principal: 'p2', ...identity } });
  });
});
