import type { PrincipalKind } from '#kernel/context.js';
import { isoMs } from '#kernel/time.js';
import type { Reads, Row } from '#projections/read-database.js';
import { MEMBERS, memberOf, type MemberView } from './views.js';

/** One page: rows after a log position, in the order in which they came. */
export interface Paged<T> {
  items: T[];
  /** Position to go on after; absent on the last page. */
  next?: number;
}

function paged<T>(rows: Row[], limit: number, of: (row: Row) => T): Paged<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(of),
    ...(rows.length > limit && last ? { next: last['position'] as number } : {}),
  };
}

export function memberList(
  reads: Reads,
  workspace: string,
  after: number,
  limit: number,
  formerToo: boolean,
): Paged<MemberView> {
  const rows = reads.all(
    `${MEMBERS} AND m.position > ? AND (m.active AND p.active OR ?) ORDER BY m.position LIMIT ?`,
    workspace,
    after,
    formerToo ? 1 : 0,
    limit + 1,
  );
  return paged(rows, limit, memberOf);
}

export function organisationList(
  reads: Reads,
  after: number,
  limit: number,
): Paged<{ id: string; name: string; since: string }> {
  const rows = reads.all(
    'SELECT id, name, since, position FROM access_organisation WHERE position > ? ORDER BY position LIMIT ?',
    after,
    limit + 1,
  );
  return paged(rows, limit, (row) => ({
    id: row['id'] as string,
    name: row['name'] as string,
    since: row['since'] as string,
  }));
}

export interface ListedWorkspace {
  id: string;
  name: string;
  zone: string;
  answer_capture: boolean;
  /** Members of now. */
  members: number;
  since: string;
}

/** Workspaces of an organisation; with `member`, only those that he belongs to. */
export function workspaceList(
  reads: Reads,
  organisation: string,
  member: string | null,
  after: number,
  limit: number,
): Paged<ListedWorkspace> {
  const rows = reads.all(
    `SELECT w.*, (SELECT count(*) FROM access_member m JOIN access_principal p ON p.id = m.principal
                   WHERE m.workspace = w.id AND m.active = 1 AND p.active = 1) AS members
       FROM access_workspace w
      WHERE w.organisation = ?1 AND w.position > ?3
        AND (?2 IS NULL OR EXISTS (SELECT 1 FROM access_member m WHERE m.workspace = w.id AND m.principal = ?2 AND m.active = 1))
      ORDER BY w.position LIMIT ?4`,
    organisation,
    member,
    after,
    limit + 1,
  );
  return paged(rows, limit, (row) => ({
    id: row['id'] as string,
    name: row['name'] as string,
    zone: row['zone'] as string,
    answer_capture: row['answer_capture'] === 1,
    members: row['members'] as number,
    since: row['since'] as string,
  }));
}

export interface ListedPrincipal {
  principal: string;
  name: string;
  kind: PrincipalKind;
  active: boolean;
  /** Owns the organisation. */
  owner: boolean;
  identities: { issuer: string; subject: string }[];
  workspaces: { workspace: string; role: string }[];
  since: string;
}

const PRINCIPALS = `
  SELECT p.*, EXISTS (SELECT 1 FROM access_owner x WHERE x.organisation = p.organisation AND x.principal = p.id) AS owner
    FROM access_principal p WHERE p.organisation = ?`;

export function principalList(
  reads: Reads,
  organisation: string,
  after: number,
  limit: number,
): Paged<ListedPrincipal> {
  const rows = reads.all(
    `${PRINCIPALS} AND p.position > ? ORDER BY p.position LIMIT ?`,
    organisation,
    after,
    limit + 1,
  );
  return paged(rows, limit, (row) => principalOf(reads, row));
}

/** Undefined for one of another organisation as for one that is not there. */
export function principalView(
  reads: Reads,
  organisation: string,
  principal: string,
): ListedPrincipal | undefined {
  const row = reads.get(`${PRINCIPALS} AND p.id = ?`, organisation, principal);
  return row && principalOf(reads, row);
}

function principalOf(reads: Reads, row: Row): ListedPrincipal {
  const principal = row['id'] as string;
  return {
    principal,
    name: row['name'] as string,
    kind: row['kind'] as PrincipalKind,
    active: row['active'] === 1,
    owner: row['owner'] === 1,
    identities: reads
      .all(
        'SELECT issuer, subject FROM access_identity WHERE principal = ? ORDER BY issuer, subject',
        principal,
      )
      .map((i) => ({ issuer: i['issuer'] as string, subject: i['subject'] as string })),
    workspaces: reads
      .all(
        'SELECT workspace, role FROM access_member WHERE principal = ? AND active = 1 ORDER BY position',
        principal,
      )
      .map((m) => ({ workspace: m['workspace'] as string, role: m['role'] as string })),
    since: row['since'] as string,
  };
}

export interface ListedCredential {
  short: string;
  principal: string;
  kind: PrincipalKind;
  label: string;
  toolsets?: string[];
  state: 'valid' | 'expired' | 'revoked';
  issued_at: string;
  issued_by: string;
  expires_at?: string;
  rerolled_at?: string;
  /** Until when the secret before the last reroll is accepted, while it is. */
  former_until?: string;
  revoked_at?: string;
  reason?: string;
}

const CREDENTIALS = `
  SELECT c.*, p.kind FROM access_credential c JOIN access_principal p ON p.id = c.principal WHERE c.workspace = ?`;

/** Keys of a workspace, of all its members or of one. `now`: milliseconds UTC. */
export function credentialList(
  reads: Reads,
  workspace: string,
  which: { principal: string | null; endedToo: boolean },
  now: number,
  after: number,
  limit: number,
): Paged<ListedCredential> {
  const rows = reads.all(
    `${CREDENTIALS} AND c.position > ?2 AND (?3 IS NULL OR c.principal = ?3)
        AND (?4 OR (c.revoked_at IS NULL AND (c.expires IS NULL OR c.expires > ?5)))
      ORDER BY c.position LIMIT ?6`.replace('c.workspace = ?', 'c.workspace = ?1'),
    workspace,
    after,
    which.principal,
    which.endedToo ? 1 : 0,
    now,
    limit + 1,
  );
  return paged(rows, limit, (row) => credentialOf(row, now));
}

export function credentialView(
  reads: Reads,
  workspace: string,
  short: string,
  now: number,
): ListedCredential | undefined {
  const row = reads.get(`${CREDENTIALS} AND c.short = ?`, workspace, short);
  return row && credentialOf(row, now);
}

function credentialOf(row: Row, now: number): ListedCredential {
  const expires = row['expires'] as number | null;
  const until = row['former_until'] as number | null;
  const optional = {
    toolsets: row['toolsets'] === null ? null : (JSON.parse(row['toolsets'] as string) as string[]),
    expires_at: expires === null ? null : isoMs(expires),
    rerolled_at: row['rerolled_at'] as string | null,
    former_until: until === null || until <= now ? null : isoMs(until),
    revoked_at: row['revoked_at'] as string | null,
    reason: row['reason'] as string | null,
  };
  return {
    short: row['short'] as string,
    principal: row['principal'] as string,
    kind: row['kind'] as PrincipalKind,
    label: row['label'] as string,
    state: stateOf(row, now),
    issued_at: row['issued_at'] as string,
    issued_by: row['issued_by'] as string,
    ...present(optional),
  };
}

function stateOf(row: Row, now: number): ListedCredential['state'] {
  if (row['revoked_at'] !== null) return 'revoked';
  const expires = row['expires'] as number | null;
  return expires !== null && expires <= now ? 'expired' : 'valid';
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };

function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null),
  ) as Present<T>;
}
