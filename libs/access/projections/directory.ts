import { projection, when, type Meta } from '#projections/projection.js';
import { organisationCodec } from '../domain/organisation.events.js';
import { workspaceCodec } from '../domain/workspace.events.js';

/** The organisation of an event of its stream. */
const organisationOf = (meta: Meta): string => meta.stream.slice('organisation-'.length);
const workspaceOf = (meta: Meta): string => meta.stream.slice('workspace-'.length);
const bit = (value: boolean): number => (value ? 1 : 0);

/**
 * Organisations, workspaces, members and keys, as every request needs them. Nobody and nothing leaves the tables: what ended is
 * marked, so that names of former members and the fate of keys stay known.
 */
export const directory = projection(
  'access_directory',
  3,
  {
    access_organisation: `CREATE TABLE access_organisation (
      id TEXT PRIMARY KEY, name TEXT NOT NULL, mode TEXT NOT NULL, four_eyes INTEGER NOT NULL, approver_names INTEGER NOT NULL,
      operator INTEGER NOT NULL, since TEXT NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX access_organisation_order ON access_organisation (position)`,
    access_owner: `CREATE TABLE access_owner (
      organisation TEXT NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (organisation, principal)) WITHOUT ROWID`,
    access_principal: `CREATE TABLE access_principal (
      id TEXT PRIMARY KEY, organisation TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, sealed INTEGER NOT NULL,
      active INTEGER NOT NULL, since TEXT NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX access_principal_order ON access_principal (organisation, position)`,
    access_identity: `CREATE TABLE access_identity (
      issuer TEXT NOT NULL, subject TEXT NOT NULL, organisation TEXT NOT NULL, principal TEXT NOT NULL,
      PRIMARY KEY (issuer, subject, organisation)) WITHOUT ROWID;
      CREATE INDEX access_identity_principal ON access_identity (principal)`,
    access_workspace: `CREATE TABLE access_workspace (
      id TEXT PRIMARY KEY, organisation TEXT NOT NULL, name TEXT NOT NULL, zone TEXT NOT NULL, answer_capture INTEGER NOT NULL,
      since TEXT NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX access_workspace_order ON access_workspace (organisation, position)`,
    access_member: `CREATE TABLE access_member (
      workspace TEXT NOT NULL, principal TEXT NOT NULL, role TEXT NOT NULL, active INTEGER NOT NULL, since TEXT NOT NULL,
      position INTEGER NOT NULL, PRIMARY KEY (workspace, principal)) WITHOUT ROWID;
      CREATE INDEX access_member_order ON access_member (workspace, position);
      CREATE INDEX access_member_principal ON access_member (principal)`,
    access_credential: `CREATE TABLE access_credential (
      short TEXT PRIMARY KEY, workspace TEXT NOT NULL, principal TEXT NOT NULL, label TEXT NOT NULL, toolsets TEXT,
      secret TEXT NOT NULL, expires INTEGER, former TEXT, former_until INTEGER, issued_at TEXT NOT NULL, issued_by TEXT NOT NULL,
      rerolled_at TEXT, revoked_at TEXT, reason TEXT, position INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX access_credential_order ON access_credential (workspace, position)`,
  },
  when(organisationCodec, {
    OrganisationCreated(tables, data, meta) {
      tables.run(
        'INSERT INTO access_organisation VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        organisationOf(meta),
        data.name,
        data.mode,
        bit(data.four_eyes),
        bit(data.approver_names),
        bit(data.operator),
        meta.recordedAt,
        meta.position,
      );
    },
    OrganisationRenamed(tables, { name }, meta) {
      tables.run(
        'UPDATE access_organisation SET name = ? WHERE id = ?',
        name,
        organisationOf(meta),
      );
    },
    AuthorityModeSet(tables, { mode }, meta) {
      tables.run(
        'UPDATE access_organisation SET mode = ? WHERE id = ?',
        mode,
        organisationOf(meta),
      );
    },
    FourEyesSet(tables, { required }, meta) {
      tables.run(
        'UPDATE access_organisation SET four_eyes = ? WHERE id = ?',
        bit(required),
        organisationOf(meta),
      );
    },
    ApproverNamesSet(tables, { shown }, meta) {
      tables.run(
        'UPDATE access_organisation SET approver_names = ? WHERE id = ?',
        bit(shown),
        organisationOf(meta),
      );
    },
    PrincipalRegistered(tables, data, meta) {
      tables.run(
        'INSERT INTO access_principal VALUES (?, ?, ?, ?, ?, 1, ?, ?)',
        data.principal,
        organisationOf(meta),
        data.kind,
        data.name,
        // Of before names were sealed: an erasure does not reach it.
        bit(data.keys !== undefined),
        meta.recordedAt,
        meta.position,
      );
    },
    PrincipalDeactivated(tables, { principal }) {
      tables.run('UPDATE access_principal SET active = 0 WHERE id = ?', principal);
    },
    IdentityLinked(tables, { issuer, subject, principal }, meta) {
      tables.run(
        'INSERT OR REPLACE INTO access_identity VALUES (?, ?, ?, ?)',
        issuer,
        subject,
        organisationOf(meta),
        principal,
      );
    },
    IdentityUnlinked(tables, { issuer, subject }, meta) {
      tables.run(
        'DELETE FROM access_identity WHERE issuer = ? AND subject = ? AND organisation = ?',
        issuer,
        subject,
        organisationOf(meta),
      );
    },
    OwnerAdded(tables, { principal }, meta) {
      tables.run(
        'INSERT OR IGNORE INTO access_owner VALUES (?, ?)',
        organisationOf(meta),
        principal,
      );
    },
    OwnerRemoved(tables, { principal }, meta) {
      tables.run(
        'DELETE FROM access_owner WHERE organisation = ? AND principal = ?',
        organisationOf(meta),
        principal,
      );
    },
  }),
  when(workspaceCodec, {
    WorkspaceCreated(tables, data, meta) {
      tables.run(
        'INSERT INTO access_workspace VALUES (?, ?, ?, ?, 0, ?, ?)',
        workspaceOf(meta),
        data.organisation,
        data.name,
        data.zone,
        meta.recordedAt,
        meta.position,
      );
    },
    WorkspaceRenamed(tables, { name }, meta) {
      tables.run('UPDATE access_workspace SET name = ? WHERE id = ?', name, workspaceOf(meta));
    },
    AnswerCaptureSet(tables, { enabled }, meta) {
      tables.run(
        'UPDATE access_workspace SET answer_capture = ? WHERE id = ?',
        bit(enabled),
        workspaceOf(meta),
      );
    },
    MemberAdded(tables, { principal, role }, meta) {
      tables.run(
        'INSERT OR REPLACE INTO access_member VALUES (?, ?, ?, 1, ?, ?)',
        workspaceOf(meta),
        principal,
        role,
        meta.recordedAt,
        meta.position,
      );
    },
    MemberRoleSet(tables, { principal, role }, meta) {
      tables.run(
        'UPDATE access_member SET role = ? WHERE workspace = ? AND principal = ?',
        role,
        workspaceOf(meta),
        principal,
      );
    },
    MemberRemoved(tables, { principal }, meta) {
      tables.run(
        'UPDATE access_member SET active = 0 WHERE workspace = ? AND principal = ?',
        workspaceOf(meta),
        principal,
      );
    },
    CredentialIssued(tables, data, meta) {
      // The first with a short part keeps it: one that another workspace was given again never takes its place.
      tables.run(
        'INSERT OR IGNORE INTO access_credential VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, NULL, NULL, NULL, ?)',
        data.short,
        workspaceOf(meta),
        data.principal,
        data.label,
        data.toolsets ? JSON.stringify(data.toolsets) : null,
        data.secret,
        data.expires_at === null ? null : Date.parse(data.expires_at),
        meta.recordedAt,
        meta.actor.principal,
        meta.position,
      );
    },
    CredentialRerolled(tables, data, meta) {
      tables.run(
        `UPDATE access_credential
            SET former = secret, former_until = ?, secret = ?, expires = ?, rerolled_at = ?
          WHERE short = ? AND workspace = ?`,
        Date.parse(data.former_until),
        data.secret,
        data.expires_at === null ? null : Date.parse(data.expires_at),
        meta.recordedAt,
        data.short,
        workspaceOf(meta),
      );
    },
    CredentialRevoked(tables, { short, reason }, meta) {
      tables.run(
        'UPDATE access_credential SET revoked_at = ?, reason = ? WHERE short = ? AND workspace = ? AND revoked_at IS NULL',
        meta.recordedAt,
        reason,
        short,
        workspaceOf(meta),
      );
    },
  }),
);
