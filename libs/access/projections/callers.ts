import { timingSafeEqual } from 'node:crypto';
import type { AuthorityMode, Caller, PrincipalKind, Role } from '#kernel/context.js';
import { sha256 } from '#kernel/json.js';
import type { Reads, Row } from '#projections/read-database.js';
import { hashLike, type ApiKey, type Pepper } from '../domain/api-key.js';

/** What makes a member: his row, his principal, the workspace and its organisation. One missing: no caller (B39). */
const MEMBERSHIP = `
  JOIN access_principal p ON p.id = m.principal AND p.active = 1
  JOIN access_workspace w ON w.id = m.workspace AND w.organisation = p.organisation
  JOIN access_organisation o ON o.id = w.organisation`;
const FIELDS = 'm.workspace, m.principal, m.role, p.kind, w.organisation, o.mode, o.four_eyes';

const OF_KEY = `
  SELECT ${FIELDS}, c.secret, c.expires, c.former, c.former_until, c.toolsets
    FROM access_credential c
    JOIN access_member m ON m.workspace = c.workspace AND m.principal = c.principal AND m.active = 1
    ${MEMBERSHIP}
   WHERE c.short = ? AND c.revoked_at IS NULL`;

const OF_IDENTITY = `
  SELECT ${FIELDS}, w.name
    FROM access_identity i
    JOIN access_member m ON m.principal = i.principal AND m.active = 1
    ${MEMBERSHIP}
   WHERE i.issuer = ? AND i.subject = ? AND i.organisation = w.organisation
   ORDER BY w.position`;

/** What is known of a key that is not revoked, and of the member that it belongs to. */
export function keyRow(reads: Reads, short: string): Row | undefined {
  return reads.get(OF_KEY, short);
}

/**
 * The caller that a key stands for; undefined for an unknown, wrong, expired or revoked key, never saying which.
 * `row`: as `keyRow` gave it; `now`: milliseconds UTC.
 */
export function callerOfKey(
  row: Row | undefined,
  key: ApiKey,
  pepper: Pepper | undefined,
  now: number,
): Caller | undefined {
  if (!row || !holds(row, key, pepper, now)) return undefined;
  const toolsets = row['toolsets'] as string | null;
  return {
    ...callerOf(row, `prec_${key.short}`),
    ...(toolsets === null ? {} : { toolsets: JSON.parse(toolsets) as string[] }),
  };
}

function holds(row: Row, key: ApiKey, pepper: Pepper | undefined, now: number): boolean {
  const { secret, expires, former, former_until: until } = row;
  if (expires !== null && now >= (expires as number)) return false;
  if (isSecret(secret as string, key.long, pepper)) return true;
  return former !== null && now < (until as number) && isSecret(former as string, key.long, pepper);
}

/** In constant time for equal lengths; the length says only which method was used. */
function isSecret(stored: string, long: string, pepper: Pepper | undefined): boolean {
  const given = hashLike(stored, long, pepper);
  if (given?.length !== stored.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(stored));
}

function callerOf(row: Row, credential: string): Caller {
  return {
    workspace: row['workspace'] as string,
    organisation: row['organisation'] as string,
    principal: row['principal'] as string,
    kind: row['kind'] as PrincipalKind,
    role: row['role'] as Role,
    credential,
    mode: row['mode'] as AuthorityMode,
    fourEyes: row['four_eyes'] === 1,
  };
}

/**
 * The caller that a person's identity at an OpenID provider stands for. Undefined where nobody is registered under it, where he is
 * deactivated or no member, and where he belongs to several workspaces and none is named.
 */
export function callerOfIdentity(
  reads: Reads,
  issuer: string,
  subject: string,
  workspace?: string,
): Caller | undefined {
  const rows = reads
    .all(OF_IDENTITY, issuer, subject)
    .filter((row) => workspace === undefined || row['workspace'] === workspace);
  const [row] = rows;
  if (!row || rows.length > 1) return undefined;
  return callerOf(row, `oidc_${sha256(JSON.stringify([issuer, subject])).slice(0, 8)}`);
}

/** True for an identity of somebody, in whichever organisation, deactivated or not. */
export function isLinked(reads: Reads, issuer: string, subject: string): boolean {
  const sql = 'SELECT 1 FROM access_identity WHERE issuer = ? AND subject = ? LIMIT 1';
  return reads.get(sql, issuer, subject) !== undefined;
}

/** The workspaces that an identity may enter, oldest first: which of them to name where there are several. */
export function workspacesOfIdentity(
  reads: Reads,
  issuer: string,
  subject: string,
): { id: string; name: string }[] {
  return reads
    .all(OF_IDENTITY, issuer, subject)
    .map((row) => ({ id: row['workspace'] as string, name: row['name'] as string }));
}

/** Keys of a workspace that would hold but for the pepper: made with one that this server does not have. */
export function strandedKeys(
  reads: Reads,
  workspace: string,
  pepper: Pepper | undefined,
  now: number,
): { stranded: number; usable: number } {
  const rows = reads.all(
    'SELECT secret FROM access_credential WHERE workspace = ? AND revoked_at IS NULL AND (expires IS NULL OR expires > ?)',
    workspace,
    now,
  );
  const usable = rows.filter((row) => hashLike(row['secret'] as string, '', pepper) !== undefined);
  return { stranded: rows.length - usable.length, usable: usable.length };
}
