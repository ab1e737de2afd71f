import { describe, expect, it } from '@jest/globals';
import type { PrincipalKind, Role } from '#kernel/context.js';
import { ERASED, principalKey } from '#kernel/sealing.js';
import { specification } from '#kernel/testing.js';
import { MAX_KEYS, type NewCredential } from './workspace-credentials.js';
import { workspaceDecider, type WorkspaceCommand } from './workspace.js';
import type { WorkspaceEvent } from './workspace.events.js';

const given = specification(workspaceDecider);
const NOW = Date.parse('2026-03-01T12:00:00Z');
const owner = { principal: 'owner', role: 'owner' } as const;
const admin = { principal: 'ada', role: 'admin' } as const;
const request = { id: 'r1', sha256: 'a' };
/** What the events name as the key of a principal: that of the organisation. */
const keysOf = (principal: string) => [principalKey('main', principal)];

const credential: NewCredential = {
  short: 'AAAAAAAA',
  secret: `sha256:${'f'.repeat(64)}`,
  label: 'first key',
  toolsets: null,
  expiresAt: null,
};
const create: WorkspaceCommand = {
  type: 'Create',
  name: 'Main',
  organisation: 'main',
  zone: 'UTC',
  owner: 'owner',
  credential,
};
const issued = (
  short: string,
  principal: string,
  more: Partial<Extract<WorkspaceEvent, { type: 'CredentialIssued' }>['data']> = {},
): WorkspaceEvent => ({
  type: 'CredentialIssued',
  data: {
    short,
    principal,
    secret: credential.secret,
    label: 'first key',
    toolsets: null,
    expires_at: null,
    keys: keysOf(principal),
    ...more,
  },
});
const added = (principal: string, role: Role, kind: PrincipalKind = 'person'): WorkspaceEvent => ({
  type: 'MemberAdded',
  data: { principal, kind, role },
});
const created: WorkspaceEvent[] = [
  { type: 'WorkspaceCreated', data: { name: 'Main', organisation: 'main', zone: 'UTC' } },
  added('owner', 'owner'),
  issued('AAAAAAAA', 'owner'),
];
const peopled = [...created, added('ada', 'admin'), added('mia', 'member')];

describe('workspace', () => {
  it('comes with its owner and a key in one append, once', () => {
    given()
      .when(create)
      .then(...created);
    given(...created)
      .when(create)
      .thenRefused('workspace_exists');
  });

  it('X-9: a repeated request makes it once, another under the same id is refused', () => {
    const asked: WorkspaceCommand = { ...create, request };
    const made: WorkspaceEvent[] = [
      {
        type: 'WorkspaceCreated',
        data: { name: 'Main', organisation: 'main', zone: 'UTC', request },
      },
    ];
    given(...made)
      .when(asked)
      .then();
    given(...made)
      .when({ ...create, request: { id: 'r1', sha256: 'b' } })
      .thenRefused('request_id_conflict');
  });

  it('changes only what differs', () => {
    given(...created)
      .when({ type: 'Change', name: 'Main', answerCapture: true })
      .then({ type: 'AnswerCaptureSet', data: { enabled: true } });
    given(...created)
      .when({ type: 'Change', name: 'Other' })
      .then({ type: 'WorkspaceRenamed', data: { name: 'Other' } });
  });

  it('does nothing where there is none', () => {
    given().when({ type: 'Change', name: 'X' }).thenRefused('unknown_workspace');
  });
});

describe('members', () => {
  const add = (by: typeof owner | typeof admin, role: Role, kind: PrincipalKind = 'person') =>
    ({ type: 'AddMember', by, principal: 'new', kind, role }) as const;

  it('are added once, with another role only by a change of role', () => {
    given(...created)
      .when(add(owner, 'admin'))
      .then(added('new', 'admin'));
    given(...created, added('new', 'admin'))
      .when(add(owner, 'admin'))
      .then();
    given(...created, added('new', 'admin'))
      .when(add(owner, 'member'))
      .thenRefused('already_a_member');
  });

  it.each(['approver', 'admin', 'owner'] as const)(
    'O-07: an agent is never made %s, by adding or by a change of role',
    (role) => {
      given(...created)
        .when(add(owner, role, 'agent'))
        .thenRefused('agent_role');
      given(...created, added('bot', 'member', 'agent'))
        .when({ type: 'SetRole', by: owner, principal: 'bot', role })
        .thenRefused('agent_role');
    },
  );

  it('a service administers at most', () => {
    given(...created)
      .when(add(owner, 'admin', 'service'))
      .then(added('new', 'admin', 'service'));
    given(...created)
      .when(add(owner, 'owner', 'service'))
      .thenRefused('service_role');
  });

  it('only an owner makes, unmakes, removes and gives keys to owners', () => {
    const commands: WorkspaceCommand[] = [
      add(admin, 'owner'),
      { type: 'SetRole', by: admin, principal: 'mia', role: 'owner' },
      { type: 'SetRole', by: admin, principal: 'owner', role: 'member' },
      { type: 'RemoveMember', by: admin, principal: 'owner', reason: 'x', now: NOW },
      {
        type: 'IssueCredential',
        by: admin,
        principal: 'owner',
        credential: { ...credential, short: 'B' },
        now: NOW,
      },
      {
        type: 'RerollCredential',
        by: admin,
        short: 'AAAAAAAA',
        secret: 's',
        now: NOW,
        overlap: 0,
      },
      { type: 'RevokeCredential', by: admin, short: 'AAAAAAAA', reason: 'x' },
    ];
    for (const command of commands)
      given(...peopled)
        .when(command)
        .thenRefused('requires_owner');
  });

  it('the last owner stays, whoever asks; one of two may go', () => {
    const demote = { type: 'SetRole', by: owner, principal: 'owner', role: 'admin' } as const;
    const remove = {
      type: 'RemoveMember',
      by: owner,
      principal: 'owner',
      reason: 'x',
      now: NOW,
    } as const;
    given(...peopled)
      .when(demote)
      .thenRefused('last_owner');
    given(...peopled)
      .when(remove)
      .thenRefused('last_owner');
    const two = [...peopled, added('olga', 'owner')];
    given(...two)
      .when(demote)
      .then({ type: 'MemberRoleSet', data: { principal: 'owner', role: 'admin' } });
    given(...two, { type: 'MemberRoleSet', data: { principal: 'olga', role: 'member' } })
      .when(remove)
      .thenRefused('last_owner');
  });

  it('leave with their keys in one append; coming back revives none', () => {
    const expired = issued('MMMMMMM3', 'mia', { expires_at: '2026-03-01T11:00:00.000Z' });
    const keys = [issued('MMMMMMM1', 'mia'), issued('MMMMMMM2', 'mia'), expired];
    const revoked = (short: string): WorkspaceEvent => ({
      type: 'CredentialRevoked',
      data: { short, reason: 'no longer a member', keys: keysOf('mia') },
    });
    const left: WorkspaceEvent[] = [
      revoked('MMMMMMM1'),
      revoked('MMMMMMM2'),
      { type: 'MemberRemoved', data: { principal: 'mia', reason: 'left', keys: keysOf('mia') } },
    ];
    const remove = {
      type: 'RemoveMember',
      by: admin,
      principal: 'mia',
      reason: 'left',
      now: NOW,
    } as const;
    given(...peopled, ...keys)
      .when(remove)
      .then(...left);
    given(...peopled, ...keys, ...left)
      .when(remove)
      .then();
    const back = [...peopled, ...keys, ...left, added('mia', 'member')];
    given(...back)
      .when({
        type: 'RerollCredential',
        by: admin,
        short: 'MMMMMMM1',
        secret: 's',
        now: NOW,
        overlap: 0,
      })
      .thenRefused('credential_ended');
  });
});

describe('keys', () => {
  const issue = (more: Partial<NewCredential> = {}, principal = 'mia'): WorkspaceCommand => ({
    type: 'IssueCredential',
    by: admin,
    principal,
    credential: { ...credential, short: 'BBBBBBBB', ...more },
    now: NOW,
  });
  const reroll = (now: number, more: object = {}): WorkspaceCommand => ({
    type: 'RerollCredential',
    by: admin,
    short: 'BBBBBBBB',
    secret: 'sha256:new',
    now,
    overlap: 60_000,
    ...more,
  });

  it('are issued to members only, with limits and expiry', () => {
    given(...peopled)
      .when(issue({}, 'bob'))
      .thenRefused('unknown_principal');
    const expiresAt = '2026-03-02T00:00:00.000Z';
    given(...peopled)
      .when(issue({ toolsets: ['decisions'], expiresAt, label: 'ci' }))
      .then(
        issued('BBBBBBBB', 'mia', {
          toolsets: ['decisions'],
          expires_at: expiresAt,
          label: 'ci',
        }),
      );
    given(...peopled)
      .when(issue({ expiresAt: '2026-03-01T12:00:00.000Z' }))
      .thenRefused('invalid_arguments');
  });

  it('X-9: one request is one key', () => {
    given(...peopled, issued('BBBBBBBB', 'mia', { request }))
      .when(issue({ request }))
      .then();
    given(...peopled, issued('BBBBBBBB', 'mia', { request }))
      .when(issue({ request: { id: 'r1', sha256: 'other' } }))
      .thenRefused('request_id_conflict');
    // What was asked for is erased with him to whom it belongs; that it was done is not.
    const erased = { request: { id: request.id, sha256: ERASED }, label: ERASED };
    given(...peopled, issued('BBBBBBBB', 'mia', erased))
      .when(issue({ request }))
      .then();
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(issue())
      .thenRefused('credential_exists');
  });

  it('a member has a bounded number of valid ones; ended ones do not count', () => {
    const many = Array.from({ length: MAX_KEYS }, (_, i) => issued(`K${i}`, 'mia'));
    given(...peopled, ...many)
      .when(issue())
      .thenRefused('too_many_keys');
    given(...peopled, ...many, { type: 'CredentialRevoked', data: { short: 'K0', reason: 'x' } })
      .when(issue())
      .thenMatches((events) => expect(events).toHaveLength(1));
    const expired = issued('K0', 'mia', { expires_at: '2026-03-01T11:59:59.000Z' });
    given(...peopled, ...many.slice(1), expired)
      .when(issue())
      .thenMatches((events) => expect(events).toHaveLength(1));
  });

  it('reroll gives a new secret under the same name, the former one until the overlap ends', () => {
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(reroll(NOW))
      .then({
        type: 'CredentialRerolled',
        data: {
          short: 'BBBBBBBB',
          secret: 'sha256:new',
          former_until: '2026-03-01T12:01:00.000Z',
          expires_at: null,
        },
      });
  });

  it('reroll keeps or moves the expiry, and wakes nothing that has ended', () => {
    const key = issued('BBBBBBBB', 'mia', { expires_at: '2026-03-01T13:00:00.000Z' });
    given(...peopled, key)
      .when(reroll(NOW))
      .thenMatches((events) =>
        expect(events).toMatchObject([{ data: { expires_at: '2026-03-01T13:00:00.000Z' } }]),
      );
    given(...peopled, key)
      .when(reroll(NOW, { expiresAt: '2026-04-01T00:00:00.000Z' }))
      .thenMatches((events) =>
        expect(events).toMatchObject([{ data: { expires_at: '2026-04-01T00:00:00.000Z' } }]),
      );
    given(...peopled, key)
      .when(reroll(Date.parse('2026-03-01T13:00:00.000Z')))
      .thenRefused('credential_ended');
    given(...peopled, key, { type: 'CredentialRevoked', data: { short: 'BBBBBBBB', reason: 'x' } })
      .when(reroll(NOW))
      .thenRefused('credential_ended');
    given(...peopled)
      .when(reroll(NOW))
      .thenRefused('unknown_credential');
  });

  it('X-9: a repeated reroll changes nothing, also after another one', () => {
    const first: WorkspaceEvent = {
      type: 'CredentialRerolled',
      data: { short: 'BBBBBBBB', secret: 'one', former_until: '', expires_at: null, request },
    };
    const second: WorkspaceEvent = {
      type: 'CredentialRerolled',
      data: { short: 'BBBBBBBB', secret: 'two', former_until: '', expires_at: null },
    };
    given(...peopled, issued('BBBBBBBB', 'mia'), first, second)
      .when(reroll(NOW, { request }))
      .then();
  });

  it('are revoked once; again changes nothing', () => {
    const revoke = {
      type: 'RevokeCredential',
      by: admin,
      short: 'BBBBBBBB',
      reason: 'lost',
    } as const;
    const revoked: WorkspaceEvent = {
      type: 'CredentialRevoked',
      data: { short: 'BBBBBBBB', reason: 'lost', keys: keysOf('mia') },
    };
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(revoke)
      .then(revoked);
    given(...peopled, issued('BBBBBBBB', 'mia'), revoked)
      .when(revoke)
      .then();
    given(...peopled)
      .when(revoke)
      .thenRefused('unknown_credential');
  });
});
