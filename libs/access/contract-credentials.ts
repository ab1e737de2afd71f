import {
  ArrayMinSize,
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { TOOLSETS } from '#kernel/context.js';
import { Doc, IsPosition, IsText, IsWhen, ListOf, Nested } from '#kernel/shape-decorators.js';
import { IdentityRef, KINDS, Paging, ROLES, Seen } from './contract.js';

class Standing {
  @IsText() workspace!: string;
  @IsIn(ROLES) role!: string;
}

export class Principal {
  @IsText() principal!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @IsIn(KINDS) kind!: string;
  @Doc('False: deactivated, for ever.') @IsBoolean() active!: boolean;
  @Doc('Owns the organisation.') @IsBoolean() owner!: boolean;
  @ListOf(() => IdentityRef) identities!: IdentityRef[];
  @ListOf(() => Standing) workspaces!: Standing[];
  @IsWhen() since!: string;
}

export class ChangedPrincipal extends Principal {
  @IsPosition() position!: string;
}

export class Principals {
  @ListOf(() => Principal) items!: Principal[];
  @IsOptional() @IsText() next_cursor?: string;
  @IsPosition() position!: string;
}

export class PrincipalInput extends Seen {
  @IsText({ max: 100 }) principal!: string;
}

export class RegisterPrincipalInput {
  @IsText({ max: 200 }) name!: string;
  @IsIn(KINDS) kind!: 'person' | 'agent' | 'service';
  @Doc('What a person signs in with.')
  @IsOptional()
  @Nested(() => IdentityRef)
  identity?: IdentityRef;
  @Doc('Your own key for this request: sent again with it, the request is done once.')
  @IsOptional()
  @IsText({ max: 200 })
  request_id?: string;
}

export class DeactivateInput {
  @IsText({ max: 100 }) principal!: string;
  @Doc('Why; it is recorded.') @IsText({ max: 2_000 }) reason!: string;
}

export class IdentityInput extends IdentityRef {
  @IsText({ max: 100 }) principal!: string;
}

export class Credential {
  @Doc('Public part of the key; names it for life.') @IsText() short!: string;
  @IsText() principal!: string;
  @Doc('Audience: whose surface it opens.') @IsIn(KINDS) kind!: string;
  @Doc('Untrusted text.') @IsText({ min: 0, max: 200 }) label!: string;
  @Doc('What it is limited to; absent: all that its kind and role admit.')
  @IsOptional()
  @IsArray()
  @IsText({}, { each: true })
  toolsets?: string[];
  @IsIn(['valid', 'expired', 'revoked']) state!: string;
  @IsWhen() issued_at!: string;
  @IsText() issued_by!: string;
  @IsOptional() @IsWhen() expires_at?: string;
  @IsOptional() @IsWhen() rerolled_at?: string;
  @Doc('Until when the secret before the last reroll is accepted.')
  @IsOptional()
  @IsWhen()
  former_until?: string;
  @IsOptional() @IsWhen() revoked_at?: string;
  @Doc('Of the revocation. Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) reason?: string;
  @Doc('When this server last accepted it, to the minute.')
  @IsOptional()
  @IsWhen()
  last_used_at?: string;
}

export class ChangedCredential extends Credential {
  @Doc('The key. Shown this once; absent where a request is repeated.')
  @IsOptional()
  @IsText()
  key?: string;
  @IsPosition() position!: string;
}

export class CredentialsInput extends Paging {
  @Doc('Only keys of this member.') @IsOptional() @IsText({ max: 100 }) principal?: string;
  @Doc('Expired and revoked ones too.') @IsOptional() @IsBoolean() include_ended?: boolean;
}

export class Credentials {
  @ListOf(() => Credential) items!: Credential[];
  @IsOptional() @IsText() next_cursor?: string;
  @IsPosition() position!: string;
}

export class CredentialInput extends Seen {
  @IsText({ max: 20 }) short!: string;
}

export class IssueCredentialInput {
  @Doc('A member; default yourself.') @IsOptional() @IsText({ max: 100 }) principal?: string;
  @Doc('What it is for.') @IsOptional() @IsText({ max: 200 }) label?: string;
  @Doc('Limits the key to these.')
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(TOOLSETS.length)
  @IsIn(TOOLSETS, { each: true })
  toolsets?: string[];
  @Doc('From then on it is refused. Default: never by itself.')
  @IsOptional()
  @IsWhen()
  expires_at?: string;
  @Doc(
    'Your own key for this request: sent again with it, one key is issued. Its secret is shown only the first time.',
  )
  @IsOptional()
  @IsText({ max: 200 })
  request_id?: string;
}

/** Seconds for which the secret before a reroll may stay valid. */
export const OVERLAP_MAX = 2_592_000;

export class RerollCredentialInput {
  @IsText({ max: 20 }) short!: string;
  @Doc('Seconds for which the secret of now stays valid, at most 30 days; default 0.')
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(OVERLAP_MAX)
  overlap_seconds?: number;
  @Doc('A new expiry; default as it is.') @IsOptional() @IsWhen() expires_at?: string;
  @Doc(
    'Your own key for this request: sent again with it, the secret changes once. It is shown only the first time.',
  )
  @IsOptional()
  @IsText({ max: 200 })
  request_id?: string;
}

export class RevokeCredentialInput {
  @IsText({ max: 20 }) short!: string;
  @Doc('Why; it is recorded.') @IsText({ max: 2_000 }) reason!: string;
}
