import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { CallerOf, Input, Operation } from '#http/operation.js';
import type { Caller } from '#kernel/context.js';
import * as c from './contract.js';
import * as k from './contract-credentials.js';
import * as m from './messages.js';

/** Organisations, workspaces, members, principals and keys. A caller acts in the workspace of his credential and nowhere else. */
@Controller('v1')
export class AccessController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation('GET', 'organisation', 'Your organisation and its rules', c.Seen, c.Organisation)
  organisation(@CallerOf() caller: Caller, @Input() input: c.Seen) {
    return this.queries.execute(new m.GetOrganisation(caller, input));
  }

  @Operation(
    'POST',
    'organisation/settings',
    'Change the rules of your organisation',
    c.OrganisationSettingsInput,
    c.Organisation,
  )
  changeOrganisation(@CallerOf() caller: Caller, @Input() input: c.OrganisationSettingsInput) {
    return this.commands.execute(new m.ChangeOrganisation(caller, input));
  }

  @Operation(
    'POST',
    'organisation/owners',
    'Make a person an owner of your organisation',
    c.OwnerInput,
    c.Organisation,
  )
  addOwner(@CallerOf() caller: Caller, @Input() input: c.OwnerInput) {
    return this.commands.execute(new m.AddOwner(caller, input));
  }

  @Operation(
    'POST',
    'organisation/owners/:principal/removal',
    'End an ownership of your organisation',
    c.OwnerInput,
    c.Organisation,
  )
  removeOwner(@CallerOf() caller: Caller, @Input() input: c.OwnerInput) {
    return this.commands.execute(new m.RemoveOwner(caller, input));
  }

  @Operation(
    'GET',
    'organisations',
    'All organisations, for the operator',
    c.Paging,
    c.Organisations,
  )
  organisations(@CallerOf() caller: Caller, @Input() input: c.Paging) {
    return this.queries.execute(new m.ListOrganisations(caller, input));
  }

  @Operation(
    'POST',
    'organisations',
    'Create an organisation with its first owner',
    c.CreateOrganisationInput,
    c.CreatedOrganisation,
    201,
  )
  createOrganisation(@CallerOf() caller: Caller, @Input() input: c.CreateOrganisationInput) {
    return this.commands.execute(new m.CreateOrganisation(caller, input));
  }

  @Operation('GET', 'workspaces', 'Workspaces of your organisation', c.Paging, c.Workspaces)
  workspaces(@CallerOf() caller: Caller, @Input() input: c.Paging) {
    return this.queries.execute(new m.ListWorkspaces(caller, input));
  }

  @Operation(
    'POST',
    'workspaces',
    'Create a workspace in your organisation',
    c.CreateWorkspaceInput,
    c.CreatedWorkspace,
    201,
  )
  createWorkspace(@CallerOf() caller: Caller, @Input() input: c.CreateWorkspaceInput) {
    return this.commands.execute(new m.CreateWorkspace(caller, input));
  }

  @Operation('GET', 'workspace/settings', 'Settings of your workspace', c.Seen, c.WorkspaceSettings)
  workspace(@CallerOf() caller: Caller, @Input() input: c.Seen) {
    return this.queries.execute(new m.GetWorkspaceSettings(caller, input));
  }

  @Operation(
    'POST',
    'workspace/settings',
    'Change settings of your workspace',
    c.WorkspaceSettingsInput,
    c.WorkspaceSettings,
  )
  changeWorkspace(@CallerOf() caller: Caller, @Input() input: c.WorkspaceSettingsInput) {
    return this.commands.execute(new m.ChangeWorkspace(caller, input));
  }

  @Operation('GET', 'members', 'Members of your workspace', c.MembersInput, c.Members)
  members(@CallerOf() caller: Caller, @Input() input: c.MembersInput) {
    return this.queries.execute(new m.ListMembers(caller, input));
  }

  @Operation(
    'POST',
    'members',
    'Add a member, known or new',
    c.AddMemberInput,
    c.ChangedMember,
    201,
  )
  addMember(@CallerOf() caller: Caller, @Input() input: c.AddMemberInput) {
    return this.commands.execute(new m.AddMember(caller, input));
  }

  @Operation('GET', 'members/:principal', 'One member', c.MemberInput, c.Member)
  member(@CallerOf() caller: Caller, @Input() input: c.MemberInput) {
    return this.queries.execute(new m.GetMember(caller, input));
  }

  @Operation(
    'POST',
    'members/:principal/role',
    'Change the role of a member',
    c.SetRoleInput,
    c.ChangedMember,
  )
  setRole(@CallerOf() caller: Caller, @Input() input: c.SetRoleInput) {
    return this.commands.execute(new m.SetMemberRole(caller, input));
  }

  @Operation(
    'POST',
    'members/:principal/removal',
    'Remove a member; his keys end',
    c.RemoveMemberInput,
    c.ChangedMember,
  )
  removeMember(@CallerOf() caller: Caller, @Input() input: c.RemoveMemberInput) {
    return this.commands.execute(new m.RemoveMember(caller, input));
  }

  @Operation('GET', 'principals', 'Everybody in your organisation', c.Paging, k.Principals)
  principals(@CallerOf() caller: Caller, @Input() input: c.Paging) {
    return this.queries.execute(new m.ListPrincipals(caller, input));
  }

  @Operation(
    'POST',
    'principals',
    'Register a person, an agent or a service',
    k.RegisterPrincipalInput,
    k.ChangedPrincipal,
    201,
  )
  register(@CallerOf() caller: Caller, @Input() input: k.RegisterPrincipalInput) {
    return this.commands.execute(new m.RegisterPrincipal(caller, input));
  }

  @Operation(
    'GET',
    'principals/:principal',
    'One of your organisation',
    k.PrincipalInput,
    k.Principal,
  )
  principal(@CallerOf() caller: Caller, @Input() input: k.PrincipalInput) {
    return this.queries.execute(new m.GetPrincipal(caller, input));
  }

  @Operation(
    'POST',
    'principals/:principal/deactivation',
    'Deactivate for ever; memberships and keys end',
    k.DeactivateInput,
    k.ChangedPrincipal,
  )
  deactivate(@CallerOf() caller: Caller, @Input() input: k.DeactivateInput) {
    return this.commands.execute(new m.DeactivatePrincipal(caller, input));
  }

  @Operation(
    'POST',
    'principals/:principal/identities',
    'Link what a person signs in with',
    k.IdentityInput,
    k.ChangedPrincipal,
  )
  linkIdentity(@CallerOf() caller: Caller, @Input() input: k.IdentityInput) {
    return this.commands.execute(new m.LinkIdentity(caller, input));
  }

  @Operation(
    'POST',
    'principals/:principal/identities/removal',
    'Unlink what a person signs in with',
    k.IdentityInput,
    k.ChangedPrincipal,
  )
  unlinkIdentity(@CallerOf() caller: Caller, @Input() input: k.IdentityInput) {
    return this.commands.execute(new m.UnlinkIdentity(caller, input));
  }

  @Operation(
    'GET',
    'credentials',
    'Keys of your workspace, or your own',
    k.CredentialsInput,
    k.Credentials,
  )
  credentials(@CallerOf() caller: Caller, @Input() input: k.CredentialsInput) {
    return this.queries.execute(new m.ListCredentials(caller, input));
  }

  @Operation(
    'POST',
    'credentials',
    'Issue a key; it is shown once',
    k.IssueCredentialInput,
    k.ChangedCredential,
    201,
  )
  issue(@CallerOf() caller: Caller, @Input() input: k.IssueCredentialInput) {
    return this.commands.execute(new m.IssueCredential(caller, input));
  }

  @Operation('GET', 'credentials/:short', 'One key', k.CredentialInput, k.Credential)
  credential(@CallerOf() caller: Caller, @Input() input: k.CredentialInput) {
    return this.queries.execute(new m.GetCredential(caller, input));
  }

  @Operation(
    'POST',
    'credentials/:short/reroll',
    'Change the secret of a key; it is shown once',
    k.RerollCredentialInput,
    k.ChangedCredential,
  )
  reroll(@CallerOf() caller: Caller, @Input() input: k.RerollCredentialInput) {
    return this.commands.execute(new m.RerollCredential(caller, input));
  }

  @Operation(
    'POST',
    'credentials/:short/revocation',
    'Revoke a key',
    k.RevokeCredentialInput,
    k.ChangedCredential,
  )
  revoke(@CallerOf() caller: Caller, @Input() input: k.RevokeCredentialInput) {
    return this.commands.execute(new m.RevokeCredential(caller, input));
  }
}
