import { IsArray, IsBoolean, IsIn, IsInt, IsOptional } from 'class-validator';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import { Doc, IsPosition, IsText, IsWhen, ListOf, Nested } from '#kernel/shape-decorators.js';

export const MODES = ['reviewed', 'peer'] as const;
export const KINDS = ['person', 'agent', 'service'] as const;
export const ROLES = ['member', 'approver', 'admin', 'owner'] as const;

export class Seen {
  @Doc('Wait until at least this position is visible; take it from the receipt of a write.')
  @IsOptional()
  @IsPosition()
  at_least?: string;
}

export class Paging extends Seen {
  @PageLimit('Items of a page, 50 unless given.') limit?: number;
  @PageCursor() cursor?: string;
}

class Page {
  @Doc('Pass it as `cursor` for the next page; absent on the last one.')
  @IsOptional()
  @IsText()
  next_cursor?: string;
  @IsPosition() position!: string;
}

export class IdentityRef {
  @Doc('Issuer of the tokens, exactly as the provider writes it.')
  @IsText({ max: 500 })
  issuer!: string;
  @Doc('The provider’s `sub` for this person.') @IsText({ max: 255 }) subject!: string;
}

/** Makes the repetition of a request recognisable: the same key and arguments do the thing once. */
class Repeatable {
  @Doc(
    'Your own key for this request: sent again with it, the request is done once. A secret is shown only the first time.',
  )
  @IsOptional()
  @IsText({ max: 200 })
  request_id?: string;
}

class Reasoned {
  @Doc('Why; it is recorded.') @IsText({ max: 2_000 }) reason!: string;
}

export class Organisation {
  @IsText() id!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @Doc('reviewed: admins and owners govern decisions; peer: every member does.')
  @IsIn(MODES)
  mode!: string;
  @Doc('Nobody approves what he proposed himself.') @IsBoolean() four_eyes!: boolean;
  @Doc('Answers show the names of approvers.') @IsBoolean() approver_names!: boolean;
  @Doc('Principals that own it.') @IsArray() @IsText({}, { each: true }) owners!: string[];
  @IsWhen() since!: string;
  @IsPosition() position!: string;
}

export class OrganisationSettingsInput {
  @IsOptional() @IsText({ max: 200 }) name?: string;
  @Doc('reviewed: admins and owners govern decisions; peer: every member does.')
  @IsOptional()
  @IsIn(MODES)
  mode?: 'reviewed' | 'peer';
  @Doc('Nobody approves what he proposed himself.') @IsOptional() @IsBoolean() four_eyes?: boolean;
  @Doc('Answers show the names of approvers.') @IsOptional() @IsBoolean() approver_names?: boolean;
}

class ListedOrganisation {
  @IsText() id!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @IsWhen() since!: string;
}

export class Organisations extends Page {
  @ListOf(() => ListedOrganisation)
  items!: ListedOrganisation[];
}

export class CreateOrganisationInput extends Repeatable {
  @IsText({ max: 200 }) name!: string;
  @Doc('Default reviewed.') @IsOptional() @IsIn(MODES) mode?: 'reviewed' | 'peer';
  @Doc('Name of its first owner.') @IsText({ max: 200 }) owner_name!: string;
  @Doc('What its first owner signs in with, where it is not only the key.')
  @IsOptional()
  @Nested(() => IdentityRef)
  owner_identity?: IdentityRef;
  @Doc('Name of its first workspace; default that of the organisation.')
  @IsOptional()
  @IsText({ max: 200 })
  workspace_name?: string;
  @Doc('IANA zone of its first workspace; default UTC.')
  @IsOptional()
  @IsText({ max: 100 })
  zone?: string;
}

export class CreatedWorkspace {
  @IsText() workspace!: string;
  @Doc('Its owner.') @IsText() principal!: string;
  @Doc('Public part of the owner’s first key.') @IsText() credential!: string;
  @Doc('The key. Shown this once; absent where a request is repeated.')
  @IsOptional()
  @IsText()
  key?: string;
  @IsPosition() position!: string;
}

export class CreatedOrganisation extends CreatedWorkspace {
  @IsText() organisation!: string;
}

export class OwnerInput {
  @IsText({ max: 100 }) principal!: string;
}

class ListedWorkspace {
  @IsText() id!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @IsText() zone!: string;
  @Doc('Answers are kept for rating.') @IsBoolean() answer_capture!: boolean;
  @IsInt() members!: number;
  @IsWhen() since!: string;
}

export class Workspaces extends Page {
  @ListOf(() => ListedWorkspace) items!: ListedWorkspace[];
}

export class CreateWorkspaceInput extends Repeatable {
  @IsText({ max: 200 }) name!: string;
  @Doc('IANA zone in which a date without a time is read; default UTC.')
  @IsOptional()
  @IsText({ max: 100 })
  zone?: string;
}

export class WorkspaceSettings {
  @IsText() id!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @Doc('Zone in which a date without a time is read.') @IsText() zone!: string;
  @Doc('Answers are kept for rating.') @IsBoolean() answer_capture!: boolean;
  @IsText() organisation!: string;
  @IsPosition() position!: string;
}

export class WorkspaceSettingsInput {
  @IsOptional() @IsText({ max: 200 }) name?: string;
  @Doc('Keep answers for rating.') @IsOptional() @IsBoolean() answer_capture?: boolean;
}

export class Member {
  @IsText() principal!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @IsIn(KINDS) kind!: string;
  @IsIn(ROLES) role!: string;
  @Doc('False: removed or deactivated.') @IsBoolean() active!: boolean;
  @IsWhen() since!: string;
}

export class ChangedMember extends Member {
  @IsPosition() position!: string;
}

export class MembersInput extends Paging {
  @Doc('Former members too.') @IsOptional() @IsBoolean() include_former?: boolean;
}

export class Members extends Page {
  @ListOf(() => Member) items!: Member[];
}

export class MemberInput extends Seen {
  @IsText({ max: 100 }) principal!: string;
}

export class AddMemberInput extends Repeatable {
  @Doc('A principal of this organisation. Leave it out to register somebody new.')
  @IsOptional()
  @IsText({ max: 100 })
  principal?: string;
  @Doc('Of somebody new.') @IsOptional() @IsText({ max: 200 }) name?: string;
  @Doc('Of somebody new; default person.') @IsOptional() @IsIn(KINDS) kind?:
    'person' | 'agent' | 'service';
  @Doc('What a new person signs in with.')
  @IsOptional()
  @Nested(() => IdentityRef)
  identity?: IdentityRef;
  @Doc('An agent is at most member, a service at most admin. Only an owner makes owners.')
  @IsIn(ROLES)
  role!: 'member' | 'approver' | 'admin' | 'owner';
}

export class SetRoleInput {
  @IsText({ max: 100 }) principal!: string;
  @Doc('An agent is at most member, a service at most admin. Only an owner makes owners.')
  @IsIn(ROLES)
  role!: 'member' | 'approver' | 'admin' | 'owner';
}

export class RemoveMemberInput extends Reasoned {
  @IsText({ max: 100 }) principal!: string;
}
