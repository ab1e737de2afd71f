import { workspaceDecider, type WorkspaceCommand } from '#access/domain/workspace.js';
import type { NewCredential } from '#access/domain/workspace-credentials.js';
import type { WorkspaceEvent } from '#access/domain/workspace.events.js';
import type { PrincipalKind, Role } from '#kernel/context.js';
import { principalKey } from '#kernel/sealing.js';
import { specification } from '#kernel/testing.js';

export const given = specification(workspaceDecider);
export const NOW = Date.parse('2026-03-01T12:00:00Z');
export const owner = { principal: 'owner', role: 'owner' } as const;
export const admin = { principal: 'ada', role: 'admin' } as const;
export const request = { id: 'r1', sha256: 'a' };
/** What the events name as the key of a principal: that of the organisation. */
export const keysOf = (principal: string) => [principalKey('main', principal)];

export const credential: NewCredential = {
  short: 'AAAAAAAA',
  secret: `sha256:${'f'.repeat(64)}`,
  label: 'first key',
  toolsets: null,
  expiresAt: null,
};
export const create = {
  type: 'Create',
  name: 'Main',
  organisation: 'main',
  zone: 'UTC',
  owner: 'owner',
  credential,
} as const satisfies WorkspaceCommand;
export const issued = (
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
export const added = (
  principal: string,
  role: Role,
  kind: PrincipalKind = 'person',
): WorkspaceEvent => ({
  type: 'MemberAdded',
  data: { principal, kind, role },
});
export const created: WorkspaceEvent[] = [
  { type: 'WorkspaceCreated', data: { name: 'Main', organisation: 'main', zone: 'UTC' } },
  added('owner', 'owner'),
  issued('AAAAAAAA', 'owner'),
];
export const peopled = [...created, added('ada', 'admin'), added('mia', 'member')];
