import { Inject, Injectable } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { Caller, Clock } from '#kernel/context.js';
import { wrongCursor } from '#kernel/refusal.js';
import { isoMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type * as c from './contract.js';
import type * as k from './contract-credentials.js';
import { administers, assertAdministers, assertFullKey, requires } from './domain/authority.js';
import { unknown } from './domain/refusals.js';
import { KEY_RING, type KeyRing } from './handlers.js';
import {
  GetCredential,
  GetMember,
  GetOrganisation,
  GetPrincipal,
  GetWorkspaceSettings,
  ListCredentials,
  ListMembers,
  ListOrganisations,
  ListPrincipals,
  ListWorkspaces,
} from './messages.js';
import {
  credentialList,
  credentialView,
  memberList,
  organisationList,
  principalList,
  principalView,
  workspaceList,
  type ListedCredential,
  type Paged,
} from './projections/listings.js';
import { memberView, organisationView, ownership, workspaceView } from './projections/views.js';

const positionOf = (text: string | undefined): number => Number(text ?? 0);

/** Refuses who does not own the organisation, or uses a key that is limited. */
export async function assertOwnsOrganisation(models: ReadModels, caller: Caller): Promise<void> {
  const { organisation, principal } = caller;
  const { owner } = await models.read((reads) => ownership(reads, organisation, principal));
  if (!owner) throw requires('owner', 'only an owner of the organisation may do this');
  assertFullKey(caller);
}

export function organisationShown(
  models: ReadModels,
  { organisation }: Caller,
  atLeast?: string,
): Promise<c.Organisation> {
  return models.read((reads, at) => {
    const view = organisationView(reads, organisation);
    if (!view) throw new Error(`organisation "${organisation}" is not in the directory`);
    return { ...view, position: String(at) };
  }, positionOf(atLeast));
}

export function workspaceShown(
  models: ReadModels,
  caller: Caller,
  atLeast?: string,
): Promise<c.WorkspaceSettings> {
  return models.read((reads, at) => {
    const { id, name, zone, organisation, settings } = workspaceView(reads, caller.workspace);
    return {
      id,
      name,
      zone,
      answer_capture: settings.answerCapture,
      organisation: organisation.id,
      position: String(at),
    };
  }, positionOf(atLeast));
}

export function memberShown(
  models: ReadModels,
  { workspace }: Caller,
  principal: string,
  atLeast?: string,
): Promise<c.ChangedMember> {
  return models.read((reads, at) => {
    const view = memberView(reads, workspace, principal);
    if (!view) throw unknown('principal', 'principal');
    return { ...view, position: String(at) };
  }, positionOf(atLeast));
}

export function principalShown(
  models: ReadModels,
  { organisation }: Caller,
  principal: string,
  atLeast?: string,
): Promise<k.ChangedPrincipal> {
  return models.read((reads, at) => {
    const view = principalView(reads, organisation, principal);
    if (!view) throw unknown('principal', 'principal');
    return { ...view, position: String(at) };
  }, positionOf(atLeast));
}

/** `key`: the key itself, where it was just made. */
export function credentialShown(
  models: ReadModels,
  ring: KeyRing,
  now: number,
  { workspace }: Caller,
  short: string,
  key?: string,
): Promise<k.ChangedCredential> {
  return models.read((reads, at) => {
    const view = credentialView(reads, workspace, short, now);
    if (!view) throw unknown('credential', 'short');
    return {
      ...withUse(view, ring),
      ...(key === undefined ? {} : { key }),
      position: String(at),
    };
  });
}

function withUse(view: ListedCredential, { lastUsed }: KeyRing): k.Credential {
  const at = lastUsed.of(view.short);
  return at === undefined ? view : { ...view, last_used_at: isoMs(at) };
}

/** A page of a list, as the doors show it. */
async function page<T>(
  models: ReadModels,
  input: c.Paging,
  list: (reads: Reads, after: number, limit: number) => Paged<T>,
): Promise<{ items: T[]; next_cursor?: string; position: string }> {
  const { cursor = '0', limit = 50, at_least } = input;
  if (!/^\d{1,15}$/.test(cursor)) throw wrongCursor();
  return models.read((reads, at) => {
    const { items, next } = list(reads, Number(cursor), limit);
    return {
      items,
      ...(next === undefined ? {} : { next_cursor: String(next) }),
      position: String(at),
    };
  }, positionOf(at_least));
}

@Injectable()
abstract class Reader {
  constructor(protected readonly models: ReadModels) {}
}

@Injectable()
abstract class KeyReader {
  constructor(
    protected readonly models: ReadModels,
    @Inject(CLOCK) protected readonly clock: Clock,
    @Inject(KEY_RING) protected readonly ring: KeyRing,
  ) {}
}

@QueryHandler(GetOrganisation)
export class GetOrganisationHandler extends Reader implements IQueryHandler<GetOrganisation> {
  execute({ caller, input }: GetOrganisation): Promise<c.Organisation> {
    return organisationShown(this.models, caller, input.at_least);
  }
}

@QueryHandler(ListOrganisations)
export class ListOrganisationsHandler extends Reader implements IQueryHandler<ListOrganisations> {
  /** The operator sees that they exist and what they are called, and nothing in them. */
  async execute({ caller, input }: ListOrganisations): Promise<c.Organisations> {
    const { organisation, principal } = caller;
    const { operator } = await this.models.read((r) => ownership(r, organisation, principal));
    if (!operator) throw requires('operator', 'only the operator sees all organisations');
    assertFullKey(caller);
    return page(this.models, input, organisationList);
  }
}

@QueryHandler(ListWorkspaces)
export class ListWorkspacesHandler extends Reader implements IQueryHandler<ListWorkspaces> {
  /** An owner of the organisation sees all of its workspaces, others those they belong to. */
  async execute({ caller, input }: ListWorkspaces): Promise<c.Workspaces> {
    const { organisation, principal } = caller;
    const { owner } = await this.models.read((r) => ownership(r, organisation, principal));
    const member = owner && caller.toolsets === undefined ? null : principal;
    return page(this.models, input, (reads, after, limit) =>
      workspaceList(reads, organisation, member, after, limit),
    );
  }
}

@QueryHandler(GetWorkspaceSettings)
export class GetWorkspaceSettingsHandler
  extends Reader
  implements IQueryHandler<GetWorkspaceSettings>
{
  execute({ caller, input }: GetWorkspaceSettings): Promise<c.WorkspaceSettings> {
    return workspaceShown(this.models, caller, input.at_least);
  }
}

@QueryHandler(ListMembers)
export class ListMembersHandler extends Reader implements IQueryHandler<ListMembers> {
  async execute({ caller, input }: ListMembers): Promise<c.Members> {
    assertAdministers(caller);
    return page(this.models, input, (reads, after, limit) =>
      memberList(reads, caller.workspace, after, limit, input.include_former ?? false),
    );
  }
}

@QueryHandler(GetMember)
export class GetMemberHandler extends Reader implements IQueryHandler<GetMember> {
  async execute({ caller, input }: GetMember): Promise<c.Member> {
    if (input.principal !== caller.principal) assertAdministers(caller);
    const { position: _position, ...member } = await memberShown(
      this.models,
      caller,
      input.principal,
      input.at_least,
    );
    return member;
  }
}

@QueryHandler(ListPrincipals)
export class ListPrincipalsHandler extends Reader implements IQueryHandler<ListPrincipals> {
  async execute({ caller, input }: ListPrincipals): Promise<k.Principals> {
    await assertOwnsOrganisation(this.models, caller);
    return page(this.models, input, (reads, after, limit) =>
      principalList(reads, caller.organisation, after, limit),
    );
  }
}

@QueryHandler(GetPrincipal)
export class GetPrincipalHandler extends Reader implements IQueryHandler<GetPrincipal> {
  async execute({ caller, input }: GetPrincipal): Promise<k.Principal> {
    await assertOwnsOrganisation(this.models, caller);
    const { position: _position, ...principal } = await principalShown(
      this.models,
      caller,
      input.principal,
      input.at_least,
    );
    return principal;
  }
}

@QueryHandler(ListCredentials)
export class ListCredentialsHandler extends KeyReader implements IQueryHandler<ListCredentials> {
  /** Admins and owners see all keys of the workspace, others their own. */
  async execute({ caller, input }: ListCredentials): Promise<k.Credentials> {
    const all = administers(caller) && caller.toolsets === undefined;
    const asked = input.principal ?? null;
    if (!all && asked !== null && asked !== caller.principal) assertAdministers(caller);
    const principal = all ? asked : caller.principal;
    const { items, ...rest } = await page(this.models, input, (reads, after, limit) =>
      credentialList(
        reads,
        caller.workspace,
        { principal, endedToo: input.include_ended ?? false },
        this.clock(),
        after,
        limit,
      ),
    );
    return { items: items.map((item) => withUse(item, this.ring)), ...rest };
  }
}

@QueryHandler(GetCredential)
export class GetCredentialHandler extends KeyReader implements IQueryHandler<GetCredential> {
  async execute({ caller, input }: GetCredential): Promise<k.Credential> {
    const { short, at_least } = input;
    const { workspace } = caller;
    const now = this.clock();
    const view = await this.models.read(
      (reads) => credentialView(reads, workspace, short, now),
      positionOf(at_least),
    );
    const own = view?.principal === caller.principal;
    if (!view || !(own || (administers(caller) && caller.toolsets === undefined)))
      throw unknown('credential', 'short');
    return withUse(view, this.ring);
  }
}
