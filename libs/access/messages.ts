import { Command, Query } from '@nestjs/cqrs';
import type { AuthorityMode, Caller } from '#kernel/context.js';
import type * as c from './contract.js';
import type * as k from './contract-credentials.js';

/**
 * Creates the first organisation, its workspace, the owner and a key for him; later calls return nothing. Where a ledger's keys were
 * all made with a pepper that this server does not have (a restored backup), its owner gets a new one.
 */
export class BootstrapWorkspace extends Command<
  { key: string; reason: 'first_start' | 'pepper_lost' } | undefined
> {
  constructor(
    /** Key to use instead of a new random one; in the documented form. */
    readonly key: string | undefined,
    readonly settings: { name: string; mode: AuthorityMode; zone: string },
  ) {
    super();
  }
}

/** Who is it? Undefined for any credential that does not hold. */
export class Authenticate extends Query<Caller | undefined> {
  constructor(readonly bearer: string) {
    super();
  }
}

/** What a caller wants done: who and what. */
abstract class Asked<Result, Input> extends Command<Result> {
  constructor(
    readonly caller: Caller,
    readonly input: Input,
  ) {
    super();
  }
}

abstract class Question<Result, Input> extends Query<Result> {
  constructor(
    readonly caller: Caller,
    readonly input: Input,
  ) {
    super();
  }
}

export class GetOrganisation extends Question<c.Organisation, c.Seen> {}
export class ListOrganisations extends Question<c.Organisations, c.Paging> {}
export class ListWorkspaces extends Question<c.Workspaces, c.Paging> {}
export class GetWorkspaceSettings extends Question<c.WorkspaceSettings, c.Seen> {}
export class ListMembers extends Question<c.Members, c.MembersInput> {}
export class GetMember extends Question<c.Member, c.MemberInput> {}
export class ListPrincipals extends Question<k.Principals, c.Paging> {}
export class GetPrincipal extends Question<k.Principal, k.PrincipalInput> {}
export class ListCredentials extends Question<k.Credentials, k.CredentialsInput> {}
export class GetCredential extends Question<k.Credential, k.CredentialInput> {}

export class CreateOrganisation extends Asked<c.CreatedOrganisation, c.CreateOrganisationInput> {}
export class ChangeOrganisation extends Asked<c.Organisation, c.OrganisationSettingsInput> {}
export class AddOwner extends Asked<c.Organisation, c.OwnerInput> {}
export class RemoveOwner extends Asked<c.Organisation, c.OwnerInput> {}
export class CreateWorkspace extends Asked<c.CreatedWorkspace, c.CreateWorkspaceInput> {}
export class ChangeWorkspace extends Asked<c.WorkspaceSettings, c.WorkspaceSettingsInput> {}
export class SetMemberRole extends Asked<c.ChangedMember, c.SetRoleInput> {}
export class RemoveMember extends Asked<c.ChangedMember, c.RemoveMemberInput> {}
export class DeactivatePrincipal extends Asked<k.ChangedPrincipal, k.DeactivateInput> {}
export class LinkIdentity extends Asked<k.ChangedPrincipal, k.IdentityInput> {}
export class UnlinkIdentity extends Asked<k.ChangedPrincipal, k.IdentityInput> {}
export class IssueCredential extends Asked<k.ChangedCredential, k.IssueCredentialInput> {}
export class RerollCredential extends Asked<k.ChangedCredential, k.RerollCredentialInput> {}
export class RevokeCredential extends Asked<k.ChangedCredential, k.RevokeCredentialInput> {}

/** Somebody of the organisation or somebody new becomes a member. */
export class AddMember extends Asked<c.ChangedMember, c.AddMemberInput> {}

export class RegisterPrincipal extends Asked<k.ChangedPrincipal, k.RegisterPrincipalInput> {
  constructor(
    caller: Caller,
    input: k.RegisterPrincipalInput,
    /** Id to take instead of a random one. No door passes it. */
    readonly id?: string,
  ) {
    super(caller, input);
  }
}
