import type { RecordedEvent } from '#event-store/event-store.js';
import type { Json } from '#kernel/json.js';
import type { Reads } from '#projections/read-database.js';
import { organisationCodec, type OrganisationEvent } from '../domain/organisation.events.js';
import { workspaceCodec, type WorkspaceEvent } from '../domain/workspace.events.js';
import { workspaceView } from './views.js';

/** A change of members, keys, roles or rules, as an auditor reads it. No names of people and no secrets are in it. */
export interface AccessChange {
  position: string;
  recorded_at: string;
  /** `member_added`, `key_revoked` …: the event's type in words. */
  kind: string;
  actor: string;
  /** Whom it is about. */
  principal?: string;
  principal_kind?: string;
  role?: string;
  /** Public part of the key. */
  key?: string;
  /** What a rule is set to, or what something is called from then on. */
  value?: string;
  reason?: string;
}

type About = Omit<AccessChange, 'position' | 'recorded_at' | 'kind' | 'actor'>;

/** The streams that hold the changes of access to a workspace: its own and its organisation's. */
export function accessStreamsOf(reads: Reads, workspace: string): [string, string] {
  const { organisation } = workspaceView(reads, workspace);
  return [`workspace-${workspace}`, `organisation-${organisation.id}`];
}

/** What an event of such a stream changed; undefined for an event that says nothing of access. */
export function accessChange(event: RecordedEvent): AccessChange | undefined {
  const { type, version, position, recordedAt, actor } = event;
  const payload = JSON.parse(event.payload) as Json;
  const known =
    workspaceCodec.decode(type, version, payload) ??
    organisationCodec.decode(type, version, payload);
  if (!known) return undefined;
  const [kind, about] = told(known);
  const frame = { position: String(position), recorded_at: recordedAt, kind };
  return { ...frame, actor: actor.principal, ...about };
}

function told(event: WorkspaceEvent | OrganisationEvent): [kind: string, about: About] {
  switch (event.type) {
    case 'MemberAdded':
      return ['member_added', memberOf(event.data)];
    case 'MemberRoleSet':
      return ['member_role_set', event.data];
    case 'MemberRemoved':
      return ['member_removed', event.data];
    case 'CredentialIssued':
      return ['key_issued', { key: event.data.short, principal: event.data.principal }];
    case 'CredentialRerolled':
      return ['key_rerolled', { key: event.data.short }];
    case 'CredentialRevoked':
      return ['key_revoked', { key: event.data.short, reason: event.data.reason }];
    case 'WorkspaceCreated':
    case 'WorkspaceRenamed':
    case 'AnswerCaptureSet':
      return ofWorkspace(event);
    default:
      return ofOrganisation(event);
  }
}

function memberOf(data: { principal: string; kind: string; role: string }): About {
  return { principal: data.principal, principal_kind: data.kind, role: data.role };
}

type Of<E, T extends string> = Extract<E, { type: T }>;

function ofWorkspace(
  event: Of<WorkspaceEvent, 'WorkspaceCreated' | 'WorkspaceRenamed' | 'AnswerCaptureSet'>,
): [kind: string, about: About] {
  switch (event.type) {
    case 'WorkspaceCreated':
      return ['workspace_created', { value: event.data.zone }];
    case 'WorkspaceRenamed':
      return ['workspace_renamed', { value: event.data.name }];
    case 'AnswerCaptureSet':
      return ['answer_capture_set', { value: event.data.enabled ? 'on' : 'off' }];
  }
}

function ofOrganisation(event: OrganisationEvent): [kind: string, about: About] {
  switch (event.type) {
    case 'OrganisationCreated':
      return ['organisation_created', { value: event.data.mode }];
    case 'OrganisationRenamed':
      return ['organisation_renamed', { value: event.data.name }];
    case 'AuthorityModeSet':
      return ['authority_mode_set', { value: event.data.mode }];
    case 'FourEyesSet':
      return ['four_eyes_set', { value: event.data.required ? 'required' : 'not required' }];
    case 'ApproverNamesSet':
      return ['approver_names_set', { value: event.data.shown ? 'shown' : 'not shown' }];
    case 'PrincipalRegistered':
      return [
        'principal_registered',
        { principal: event.data.principal, principal_kind: event.data.kind },
      ];
    case 'PrincipalDeactivated':
      return [
        'principal_deactivated',
        { principal: event.data.principal, reason: event.data.reason },
      ];
    case 'IdentityLinked':
      return ['identity_linked', { principal: event.data.principal }];
    case 'IdentityUnlinked':
      return ['identity_unlinked', { principal: event.data.principal }];
    case 'OwnerAdded':
      return ['owner_added', { principal: event.data.principal }];
    case 'OwnerRemoved':
      return ['owner_removed', { principal: event.data.principal }];
  }
}
