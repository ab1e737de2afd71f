import { Refusal } from '#kernel/refusal.js';
import { principalKey } from '#kernel/sealing.js';
import { isoMs } from '#kernel/time.js';
import { assertMayTouch, type Authority } from './authority.js';
import { isRepeated, type Request } from './repetition.js';
import { unknown } from './refusals.js';
import type { WorkspaceEvent } from './workspace.events.js';
import type { Credential, OpenWorkspace } from './workspace-state.js';

export interface NewCredential {
  short: string;
  /** Hash of the secret, with its method. */
  secret: string;
  label: string;
  toolsets: readonly string[] | null;
  /** Canonical instant. */
  expiresAt: string | null;
  request?: Request | undefined;
}

/** Keys of one member that are neither revoked nor expired. Refused before any write; documented in docs/architecture.md. */
export const MAX_KEYS = 50;

export function issue(
  command: { by: Authority; principal: string; credential: NewCredential; now: number },
  workspace: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const { by, principal, credential, now } = command;
  const member = workspace.members.get(principal);
  if (!member) throw unknown('principal', 'principal');
  assertMayTouch(by, member.role);
  const known = workspace.credentials.get(credential.short);
  if (isRepeated(credential.request, workspace.requests)) return [];
  if (known)
    throw new Refusal('conflict', 'credential_exists', 'a key with this short part exists');
  assertFuture(credential.expiresAt, now);
  const valid = [...workspace.credentials.values()].filter(
    (other) => other.principal === principal && isLive(other, now),
  );
  if (valid.length >= MAX_KEYS)
    throw new Refusal('conflict', 'too_many_keys', `a member has at most ${MAX_KEYS} valid keys`, {
      path: 'principal',
      issues: [{ path: 'principal', problem: `has ${MAX_KEYS} valid keys` }],
      fix: 'revoke keys that are no longer used',
    });
  return [issued(workspace.organisation, principal, credential)];
}

export function issued(
  organisation: string,
  principal: string,
  credential: NewCredential,
): WorkspaceEvent {
  const { short, secret, label, toolsets, expiresAt, request } = credential;
  return {
    type: 'CredentialIssued',
    data: {
      short,
      principal,
      secret,
      label,
      toolsets: toolsets ? [...toolsets] : null,
      expires_at: expiresAt,
      ...(request === undefined ? {} : { request }),
      keys: [principalKey(organisation, principal)],
    },
  };
}

/** A new secret under the same name. What is revoked or expired stays so: issue another key. */
export function reroll(
  command: {
    by: Authority;
    short: string;
    secret: string;
    now: number;
    overlap: number;
    expiresAt?: string | null | undefined;
    request?: Request | undefined;
  },
  workspace: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const { by, short, secret, now, overlap, request } = command;
  const known = touched(by, short, workspace);
  if (isRepeated(request, workspace.requests)) return [];
  if (!isLive(known, now))
    throw new Refusal('conflict', 'credential_ended', 'the key was revoked or has expired', {
      path: 'short',
      issues: [{ path: 'short', problem: 'names a key that is no longer valid' }],
      fix: 'issue a new key',
    });
  const expiresAt = command.expiresAt === undefined ? known.expiresAt : command.expiresAt;
  assertFuture(expiresAt, now);
  return [
    {
      type: 'CredentialRerolled',
      data: {
        short,
        secret,
        former_until: isoMs(now + overlap),
        expires_at: expiresAt,
        ...(request === undefined ? {} : { request }),
      },
    },
  ];
}

export function revoke(
  { by, short, reason }: { by: Authority; short: string; reason: string },
  workspace: OpenWorkspace,
): readonly WorkspaceEvent[] {
  const { revoked, principal } = touched(by, short, workspace);
  return revoked ? [] : [revocation(workspace, { short, principal, reason })];
}

export function revocation(
  { organisation }: OpenWorkspace,
  { short, principal, reason }: { short: string; principal: string; reason: string },
): WorkspaceEvent {
  const keys = [principalKey(organisation, principal)];
  return { type: 'CredentialRevoked', data: { short, reason, keys } };
}

function touched(by: Authority, short: string, workspace: OpenWorkspace): Credential {
  const known = workspace.credentials.get(short);
  if (!known) throw unknown('credential', 'short');
  assertMayTouch(by, workspace.members.get(known.principal)?.role);
  return known;
}

export function isLive(credential: Credential, now: number): boolean {
  const { revoked, expiresAt } = credential;
  return !revoked && (expiresAt === null || now < Date.parse(expiresAt));
}

function assertFuture(expiresAt: string | null, now: number): void {
  if (expiresAt === null || Date.parse(expiresAt) > now) return;
  throw new Refusal('invalid', 'invalid_arguments', 'expires_at: lies in the past', {
    path: 'expires_at',
    issues: [{ path: 'expires_at', problem: 'lies in the past' }],
    fix: 'give an instant to come, or leave it out',
  });
}
