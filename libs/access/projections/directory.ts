import { timingSafeEqual } from 'node:crypto';
import type { AuthorityMode, Caller, PrincipalKind, Role } from '#kernel/context.js';
import { projection, when } from '#projections/projection.js';
import type { Reads } from '#projections/read-database.js';
import type { ApiKey } from '../domain/api-key.js';
import { workspaceCodec } from '../domain/workspace.events.js';

/** Workspaces, members and credentials, as every request needs them. */
export const directory = projection(
  'access_directory',
  1,
  {
    access_workspace: `CREATE TABLE access_workspace (
      id TEXT PRIMARY KEY, name TEXT NOT NULL, organisation TEXT NOT NULL, organisation_name TEXT NOT NULL,
      mode TEXT NOT NULL, zone TEXT NOT NULL) WITHOUT ROWID`,
    access_member: `CREATE TABLE access_member (
      workspace TEXT NOT NULL, principal TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
      PRIMARY KEY (workspace, principal)) WITHOUT ROWID`,
    access_credential: `CREATE TABLE access_credential (
      short TEXT PRIMARY KEY, workspace TEXT NOT NULL, principal TEXT NOT NULL, secret_sha256 TEXT NOT NULL,
      revoked INTEGER NOT NULL) WITHOUT ROWID`,
  },
  when(workspaceCodec, {
    WorkspaceCreated(tables, data, { workspace }) {
      tables.run(
        'INSERT INTO access_workspace VALUES (?, ?, ?, ?, ?, ?)',
        workspace,
        data.name,
        data.organisation.id,
        data.organisation.name,
        data.mode,
        data.zone,
      );
    },
    MemberAdded(tables, data, { workspace }) {
      tables.run(
        'INSERT INTO access_member VALUES (?, ?, ?, ?, ?)',
        workspace,
        data.principal,
        data.kind,
        data.name,
        data.role,
      );
    },
    CredentialIssued(tables, data, { workspace }) {
      tables.run(
        'INSERT INTO access_credential VALUES (?, ?, ?, ?, 0)',
        data.short,
        workspace,
        data.principal,
        data.secret_sha256,
      );
    },
    CredentialRevoked(tables, data) {
      tables.run('UPDATE access_credential SET revoked = 1 WHERE short = ?', data.short);
    },
  }),
);

/** The caller that a key stands for; undefined for an unknown, wrong or revoked key, never saying which. */
export function callerOfKey(reads: Reads, key: ApiKey): Caller | undefined {
  const row = reads.get(
    `SELECT c.secret_sha256, c.workspace, c.principal, m.kind, m.role, w.mode
       FROM access_credential c
       JOIN access_member m ON m.workspace = c.workspace AND m.principal = c.principal
       JOIN access_workspace w ON w.id = c.workspace
      WHERE c.short = ? AND c.revoked = 0`,
    key.short,
  );
  if (!row) return undefined;
  const stored = Buffer.from(row['secret_sha256'] as string, 'hex');
  if (!timingSafeEqual(stored, Buffer.from(key.secretSha256, 'hex'))) return undefined;
  return {
    workspace: row['workspace'] as string,
    principal: row['principal'] as string,
    kind: row['kind'] as PrincipalKind,
    role: row['role'] as Role,
    credential: `prec_${key.short}`,
    mode: row['mode'] as AuthorityMode,
  };
}

export interface WorkspaceView {
  id: string;
  name: string;
  organisation: { id: string; name: string; mode: AuthorityMode };
  zone: string;
}

export function workspaceView(reads: Reads, id: string): WorkspaceView {
  const row = reads.get('SELECT * FROM access_workspace WHERE id = ?', id);
  if (!row) throw new Error(`workspace ${id} is not in the directory`);
  return {
    id,
    name: row['name'] as string,
    organisation: {
      id: row['organisation'] as string,
      name: row['organisation_name'] as string,
      mode: row['mode'] as AuthorityMode,
    },
    zone: row['zone'] as string,
  };
}
