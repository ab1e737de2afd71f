import type { AuthorityMode, PrincipalKind, Role } from '#kernel/context.js';
import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { WorkspaceEvent } from './workspace.events.js';

interface Member {
  kind: PrincipalKind;
  role: Role;
}

export type Workspace =
  | { status: 'absent' }
  | {
      status: 'open';
      mode: AuthorityMode;
      zone: string;
      members: Map<string, Member>;
      credentials: Map<string, 'valid' | 'revoked'>;
    };

export interface NewCredential {
  short: string;
  secretSha256: string;
}

export type WorkspaceCommand =
  | {
      type: 'Create';
      name: string;
      organisation: { id: string; name: string };
      mode: AuthorityMode;
      zone: string;
      owner: { principal: string; name: string };
      credential: NewCredential;
    }
  | { type: 'AddMember'; principal: string; kind: PrincipalKind; name: string; role: Role }
  | { type: 'IssueCredential'; principal: string; credential: NewCredential }
  | { type: 'RevokeCredential'; short: string; reason: string };

function decide(command: WorkspaceCommand, workspace: Workspace): WorkspaceEvent[] {
  if (command.type === 'Create') return create(command, workspace);
  if (workspace.status === 'absent') throw missing();
  switch (command.type) {
    case 'AddMember':
      if (workspace.members.has(command.principal))
        throw new Refusal(
          'conflict',
          'already_a_member',
          `${command.principal} is a member already`,
          {
            path: 'principal',
          },
        );
      return [
        {
          type: 'MemberAdded',
          data: {
            principal: command.principal,
            kind: command.kind,
            name: command.name,
            role: command.role,
          },
        },
      ];
    case 'IssueCredential':
      if (!workspace.members.has(command.principal))
        throw new Refusal('not_found', 'unknown_principal', 'no such member', {
          path: 'principal',
        });
      return [issued(command.principal, command.credential)];
    case 'RevokeCredential': {
      const state = workspace.credentials.get(command.short);
      if (state === undefined)
        throw new Refusal('not_found', 'unknown_credential', 'no such credential', {
          path: 'short',
        });
      if (state === 'revoked') return [];
      return [
        { type: 'CredentialRevoked', data: { short: command.short, reason: command.reason } },
      ];
    }
    default:
      return unreachable(command);
  }
}

function create(
  command: Extract<WorkspaceCommand, { type: 'Create' }>,
  workspace: Workspace,
): WorkspaceEvent[] {
  if (workspace.status !== 'absent')
    throw new Refusal('conflict', 'workspace_exists', 'the workspace exists already');
  const { name, organisation, mode, zone, owner, credential } = command;
  return [
    { type: 'WorkspaceCreated', data: { name, organisation, mode, zone } },
    {
      type: 'MemberAdded',
      data: { principal: owner.principal, kind: 'person', name: owner.name, role: 'owner' },
    },
    issued(owner.principal, credential),
  ];
}

function issued(principal: string, credential: NewCredential): WorkspaceEvent {
  return {
    type: 'CredentialIssued',
    data: { short: credential.short, principal, secret_sha256: credential.secretSha256 },
  };
}

function missing(): Refusal {
  return new Refusal('not_found', 'unknown_workspace', 'no such workspace');
}

function evolve(workspace: Workspace, event: WorkspaceEvent): Workspace {
  if (event.type === 'WorkspaceCreated')
    return {
      status: 'open',
      mode: event.data.mode,
      zone: event.data.zone,
      members: new Map(),
      credentials: new Map(),
    };
  if (workspace.status === 'absent') return workspace;
  switch (event.type) {
    case 'MemberAdded':
      workspace.members.set(event.data.principal, { kind: event.data.kind, role: event.data.role });
      return workspace;
    case 'CredentialIssued':
      workspace.credentials.set(event.data.short, 'valid');
      return workspace;
    case 'CredentialRevoked':
      workspace.credentials.set(event.data.short, 'revoked');
      return workspace;
    default:
      return unreachable(event);
  }
}

export const workspaceDecider: Decider<Workspace, WorkspaceCommand, WorkspaceEvent> = {
  initial: () => ({ status: 'absent' }),
  decide,
  evolve,
};
