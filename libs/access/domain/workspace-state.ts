import type { PrincipalKind, Role } from '#kernel/context.js';
import { unreachable } from '#kernel/decider.js';
import { remember, type Requests } from './repetition.js';
import type { WorkspaceEvent } from './workspace.events.js';

interface Member {
  kind: PrincipalKind;
  role: Role;
}

export interface Credential {
  principal: string;
  secret: string;
  revoked: boolean;
  expiresAt: string | null;
}

export type Workspace =
  | { status: 'absent' }
  | {
      status: 'open';
      name: string;
      organisation: string;
      zone: string;
      answerCapture: boolean;
      requests: Requests;
      members: Map<string, Member>;
      /** By the short part of the key. */
      credentials: Map<string, Credential>;
    };

export type OpenWorkspace = Extract<Workspace, { status: 'open' }>;

export function evolveWorkspace(workspace: Workspace, event: WorkspaceEvent): Workspace {
  if (event.type === 'WorkspaceCreated') {
    const { name, organisation, zone, request } = event.data;
    return {
      status: 'open',
      name,
      organisation,
      zone,
      answerCapture: false,
      requests: new Map(request ? [[request.id, request.sha256]] : []),
      members: new Map(),
      credentials: new Map(),
    };
  }
  if (workspace.status === 'open') apply(workspace, event);
  return workspace;
}

function apply(now: OpenWorkspace, event: Exclude<WorkspaceEvent, { type: 'WorkspaceCreated' }>) {
  switch (event.type) {
    case 'WorkspaceRenamed':
      now.name = event.data.name;
      return;
    case 'AnswerCaptureSet':
      now.answerCapture = event.data.enabled;
      return;
    case 'MemberAdded':
      now.members.set(event.data.principal, { kind: event.data.kind, role: event.data.role });
      remember(now.requests, event.data.request);
      return;
    case 'MemberRoleSet': {
      const member = now.members.get(event.data.principal);
      if (member) member.role = event.data.role;
      return;
    }
    case 'MemberRemoved':
      now.members.delete(event.data.principal);
      return;
    case 'CredentialIssued': {
      const { short, principal, secret, expires_at: expiresAt, request } = event.data;
      now.credentials.set(short, { principal, secret, revoked: false, expiresAt });
      remember(now.requests, request);
      return;
    }
    case 'CredentialRerolled': {
      const credential = now.credentials.get(event.data.short);
      if (!credential) return;
      credential.secret = event.data.secret;
      credential.expiresAt = event.data.expires_at;
      remember(now.requests, event.data.request);
      return;
    }
    case 'CredentialRevoked': {
      const credential = now.credentials.get(event.data.short);
      if (credential) credential.revoked = true;
      return;
    }
    default:
      unreachable(event);
  }
}
