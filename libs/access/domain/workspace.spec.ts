import { describe, it } from '@jest/globals';
import type { PrincipalKind, Role } from '#kernel/context.js';
import {
  added,
  admin,
  create,
  created,
  credential,
  given,
  issued,
  keysOf,
  NOW,
  owner,
  peopled,
  request,
} from '../../../test/support/workspace-story.js';
import type { WorkspaceCommand } from './workspace.js';
import type { WorkspaceEvent } from './workspace.events.js';

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
