import type { AuthorityMode, PrincipalKind, Role } from '#kernel/context.js';
import type { Reads, Row } from '#projections/read-database.js';
import { directory } from './directory.js';

export interface WorkspaceView {
  id: string;
  name: string;
  organisation: { id: string; name: string; mode: AuthorityMode };
  zone: string;
  settings: { answerCapture: boolean; approverNames: boolean; fourEyes: boolean };
}

/** A workspace that a caller belongs to; one that is not in the directory is a defect, an empty id among them (B39). */
export function workspaceView(reads: Reads, id: string): WorkspaceView {
  return reads.memo(directory, id, () => readWorkspace(reads, id));
}

/** Every workspace of the ledger, in the order in which they were made. */
export function everyWorkspace(reads: Reads): { id: string; name: string }[] {
  return reads
    .all('SELECT id, name FROM access_workspace ORDER BY position')
    .map((row) => ({ id: row['id'] as string, name: row['name'] as string }));
}

function readWorkspace(reads: Reads, id: string): WorkspaceView {
  const row = reads.get(
    `SELECT w.name, w.zone, w.answer_capture, o.id AS organisation, o.name AS organisation_name, o.mode, o.four_eyes, o.approver_names
       FROM access_workspace w JOIN access_organisation o ON o.id = w.organisation WHERE w.id = ?`,
    id,
  );
  if (!row) throw new Error(`workspace "${id}" is not in the directory`);
  return {
    id,
    name: row['name'] as string,
    organisation: {
      id: row['organisation'] as string,
      name: row['organisation_name'] as string,
      mode: row['mode'] as AuthorityMode,
    },
    zone: row['zone'] as string,
    settings: {
      answerCapture: row['answer_capture'] === 1,
      approverNames: row['approver_names'] === 1,
      fourEyes: row['four_eyes'] === 1,
    },
  };
}

/** A member of a workspace, former ones included (`active` false: removed or deactivated): what they did stays theirs. */
export interface MemberView {
  principal: string;
  /** Personal data: shown only where the setting for it is on, or to who administers members. */
  name: string;
  kind: PrincipalKind;
  role: Role;
  active: boolean;
  /** Instant at which he last became a member. */
  since: string;
}

export const MEMBERS = `
  SELECT m.principal, p.name, p.kind, m.role, m.active AND p.active AS active, m.since, m.position
    FROM access_member m JOIN access_principal p ON p.id = m.principal WHERE m.workspace = ?`;

export function memberView(
  reads: Reads,
  workspace: string,
  principal: string,
): MemberView | undefined {
  const row = reads.get(`${MEMBERS} AND m.principal = ?`, workspace, principal);
  return row && memberOf(row);
}

export function memberOf(row: Row): MemberView {
  return {
    principal: row['principal'] as string,
    name: row['name'] as string,
    kind: row['kind'] as PrincipalKind,
    role: row['role'] as Role,
    active: row['active'] === 1,
    since: row['since'] as string,
  };
}

export interface OrganisationView {
  id: string;
  name: string;
  mode: AuthorityMode;
  four_eyes: boolean;
  approver_names: boolean;
  owners: string[];
  since: string;
}

export function organisationView(reads: Reads, id: string): OrganisationView | undefined {
  const row = reads.get('SELECT * FROM access_organisation WHERE id = ?', id);
  if (!row) return undefined;
  return {
    id,
    name: row['name'] as string,
    mode: row['mode'] as AuthorityMode,
    four_eyes: row['four_eyes'] === 1,
    approver_names: row['approver_names'] === 1,
    owners: reads
      .all('SELECT principal FROM access_owner WHERE organisation = ? ORDER BY principal', id)
      .map((owner) => owner['principal'] as string),
    since: row['since'] as string,
  };
}

/** What an erasure of a principal must know of him. */
export interface PrincipalStanding {
  name: string;
  /** False: the name was recorded before names were sealed. */
  sealed: boolean;
  active: boolean;
  /** He alone owns the organisation. */
  lastOwner: boolean;
  /** Identities that still lead to him. */
  identities: number;
  /** Workspaces of his organisation, in the order in which they were made; he need not have been in any. */
  workspaces: string[];
}

/** Undefined for one of another organisation as for one that is not there. */
export function principalStanding(
  reads: Reads,
  organisation: string,
  principal: string,
): PrincipalStanding | undefined {
  const row = reads.get(
    `SELECT name, sealed, active, (SELECT count(*) FROM access_identity i WHERE i.principal = p.id) AS identities
       FROM access_principal p WHERE organisation = ? AND id = ?`,
    organisation,
    principal,
  );
  if (!row) return undefined;
  const owners = organisationView(reads, organisation)?.owners ?? [];
  return {
    name: row['name'] as string,
    sealed: row['sealed'] === 1,
    active: row['active'] === 1,
    lastOwner: owners.length === 1 && owners[0] === principal,
    identities: row['identities'] as number,
    workspaces: reads
      .all('SELECT id FROM access_workspace WHERE organisation = ? ORDER BY position', organisation)
      .map((workspace) => workspace['id'] as string),
  };
}

/** Owner of the organisation, and whether its owners run the server. */
export function ownership(
  reads: Reads,
  organisation: string,
  principal: string,
): { owner: boolean; operator: boolean } {
  const row = reads.get(
    `SELECT o.operator FROM access_owner x JOIN access_organisation o ON o.id = x.organisation
      WHERE x.organisation = ? AND x.principal = ?`,
    organisation,
    principal,
  );
  return { owner: row !== undefined, operator: row?.['operator'] === 1 };
}
