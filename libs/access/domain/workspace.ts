import type { PrincipalKind, Role } from '#kernel/context.js';
import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { principalKey } from '#kernel/sealing.js';
import { assertFits, assertMayTouch, type Authority } from './authority.js';
import { isRepeated, type Request } from './repetition.js';
import { unknown } from './refusals.js';
import type { WorkspaceEvent } from './workspace.events.js';
import {
  isLive,
  issue,
  issued,
  reroll,
  revocation,
  revoke,
  type NewCredential,
} from './workspace-credentials.js';
import { evolveWorkspace, type OpenWorkspace, type Workspace } from './workspace-state.js';

export type WorkspaceCommand =
  | {
      type: 'Create';
      name: string;
      organisation: string;
      zone: string;
      owner: string;
      credential: NewCredential;
      request?: Request | undefined;
    }
  | { type: 'Change'; name?: string | undefined; answerCapture?: boolean | undefined }
  | {
      type: 'AddMember';
      by: Authority;
      principal: string;
      kind: PrincipalKind;
      role: Role;
      request?: Request | undefined;
    }
  | { type: 'SetRole'; by: Authority; principal: string; role: Role }
  | { type: 'RemoveMember'; by: Authority; principal: string; reason: string; now: number }
  | {
      type: 'IssueCredential';
      by: Authority;
      principal: string;
      credential: NewCredential;
      now: number;
    }
  | {
      type: 'RerollCredential';
      by: Authority;
      short: string;
      secret: string;
      /** Milliseconds UTC. */
      now: number;
      /** Milliseconds for which the secret of now stays valid. */
      overlap: number;
      /** Absent: as it is. */
      expiresAt?: string | null | undefined;
      request?: Request | undefined;
    }
  | { type: 'RevokeCredential'; by: Authority; short: string; reason: string };

function decide(command: WorkspaceCommand, workspace: Workspace): readonly WorkspaceEvent[] {
  if (command.type === 'Create') return create(command, workspace);
  if (workspace.status === 'absent') throw unknown('workspace', 'workspace');
  switch (command.type) {
    case 'Change':
      return change(command, workspace);
    case 'AddMember':
      return addMember(command, workspace);
    case 'SetRole':
      return setRole(command, workspace);
    case 'RemoveMember':
      return removeMember(command, workspace);
    case 'IssueCredential':
      return issue(command, workspace);
    case 'RerollCredential':
      return reroll(command, workspace);
    case 'RevokeCredential':
      return revoke(command, workspace);
    default:
      return unreachable(command);
  }
}

function create(
  command: Extract<WorkspaceCommand, { type: 'Create' }>,
  workspace: Workspace,
): readonly WorkspaceEvent[] {
  const { name, organisation, zone, owner, credential, request } = command;
  if (workspace.status === 'open') {
    if (isRepeated(request, workspace.requests)) return [];
    throw new Refusal('conflict', 'workspace_exists', 'the workspace exists already');
  }
  return [
    {
      type: 'WorkspaceCreated',
      data: {
        name,
        organisation,
        zone,
        // The request may name him.
        ...(request === undefined ? {} : { request, keys: [principalKey(organisation, owner)] }),
      },
    },
    { type: 'MemberAdded', data: { principal: owner, kind: 'person', role: 'owner' } },
    issued(organisation, owner, credential),
  ];
}

function change(
  { name, answerCapture }: Extract<WorkspaceCommand, { type: 'Change' }>,
  now: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const events: WorkspaceEvent[] = [];
  if (name !== undefined && name !== now.name)
    events.push({ type: 'WorkspaceRenamed', data: { name } });
  if (answerCapture !== undefined && answerCapture !== now.answerCapture)
    events.push({ type: 'AnswerCaptureSet', data: { enabled: answerCapture } });
  return events;
}

function addMember(
  { by, principal, kind, role, request }: Extract<WorkspaceCommand, { type: 'AddMember' }>,
  now: OpenWorkspace,
): readonly WorkspaceEvent[] {
  assertMayTouch(by, role);
  if (isRepeated(request, now.requests)) return [];
  const known = now.members.get(principal);
  if (known?.role === role) return [];
  if (known)
    throw new Refusal('conflict', 'already_a_member', `${principal} is a member already`, {
      path: 'principal',
      issues: [{ path: 'principal', problem: `is a member with the role ${known.role}` }],
      fix: 'change the role instead',
    });
  assertFits(kind, role);
  return [
    {
      type: 'MemberAdded',
      data: {
        principal,
        kind,
        role,
        ...(request === undefined
          ? {}
          : { request, keys: [principalKey(now.organisation, principal)] }),
      },
    },
  ];
}

function setRole(
  { by, principal, role }: Extract<WorkspaceCommand, { type: 'SetRole' }>,
  now: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const member = now.members.get(principal);
  if (!member) throw unknown('principal', 'principal');
  assertMayTouch(by, member.role, role);
  if (member.role === role) return [];
  assertFits(member.kind, role);
  assertNotLastOwner(principal, now);
  return [{ type: 'MemberRoleSet', data: { principal, role } }];
}

/** His keys end with his membership, in the same append: if he comes back, they do not. */
function removeMember(
  { by, principal, reason, now }: Extract<WorkspaceCommand, { type: 'RemoveMember' }>,
  workspace: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const member = workspace.members.get(principal);
  if (!member) return [];
  assertMayTouch(by, member.role);
  assertNotLastOwner(principal, workspace);
  const keys = [...workspace.credentials]
    .filter(([, credential]) => credential.principal === principal && isLive(credential, now))
    .map(([short]) => revocation(workspace, { short, principal, reason: 'no longer a member' }));
  const sealing = [principalKey(workspace.organisation, principal)];
  return [...keys, { type: 'MemberRemoved', data: { principal, reason, keys: sealing } }];
}

export function isLastOwner(principal: string, now: OpenWorkspace): boolean {
  const owners = [...now.members].filter(([, member]) => member.role === 'owner');
  return owners.length === 1 && owners[0]?.[0] === principal;
}

function assertNotLastOwner(principal: string, now: OpenWorkspace): void {
  if (!isLastOwner(principal, now)) return;
  throw new Refusal('conflict', 'last_owner', 'a workspace keeps at least one owner', {
    path: 'principal',
    issues: [{ path: 'principal', problem: 'is the last owner of the workspace' }],
    fix: 'make somebody else an owner first',
  });
}

export const workspaceDecider: Decider<Workspace, WorkspaceCommand, WorkspaceEvent> = {
  initial: () => ({ status: 'absent' }),
  decide,
  evolve: evolveWorkspace,
};
