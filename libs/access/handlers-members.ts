import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { AddMemberInput, ChangedMember } from './contract.js';
import type { ChangedPrincipal } from './contract-credentials.js';
import { assertAdministers, assertFits, assertMayTouch } from './domain/authority.js';
import type { OrganisationCommand } from './domain/organisation.js';
import type { NewPrincipal } from './domain/organisation-people.js';
import { unknown } from './domain/refusals.js';
import { isLastOwner, type WorkspaceCommand } from './domain/workspace.js';
import { assertOwnsOrganisation, memberShown, principalShown } from './handlers-queries.js';
import {
  AddMember,
  DeactivatePrincipal,
  LinkIdentity,
  RegisterPrincipal,
  RemoveMember,
  SetMemberRole,
  UnlinkIdentity,
} from './messages.js';
import { principalView } from './projections/listings.js';
import { memberView } from './projections/views.js';
import {
  draw,
  organisationStream,
  organisationStreams,
  workspaceStream,
  workspaceStreams,
  type Draw,
} from './streams.js';

@Injectable()
abstract class Administration {
  constructor(
    protected readonly streams: Streams,
    protected readonly models: ReadModels,
    @Inject(CLOCK) protected readonly clock: Clock,
  ) {}

  protected onWorkspace(caller: Caller, command: WorkspaceCommand, id: string = randomUUID()) {
    return this.streams.execute(
      workspaceStreams,
      workspaceStream(caller.workspace),
      command,
      originOf(caller, id),
    );
  }

  protected onOrganisation(
    caller: Caller,
    command: OrganisationCommand,
    id: string = randomUUID(),
  ) {
    return this.streams.execute(
      organisationStreams,
      organisationStream(caller.organisation),
      command,
      originOf(caller, id),
    );
  }
}

@CommandHandler(AddMember)
export class AddMemberHandler extends Administration implements ICommandHandler<AddMember> {
  /** Somebody new is registered first: cut short before he is a member, the same `request_id` goes on. */
  async execute({ caller, input }: AddMember): Promise<ChangedMember> {
    assertAdministers(caller);
    const drawn = draw('add_member', caller, input);
    const { principal, kind } =
      input.principal === undefined
        ? await this.newcomer(caller, input, drawn)
        : await this.known(caller, input, input.principal);
    const { role } = input;
    const by = { principal: caller.principal, role: caller.role };
    await this.onWorkspace(
      caller,
      { type: 'AddMember', by, principal, kind, role, request: drawn.request },
      drawn.command,
    );
    return memberShown(this.models, caller, principal);
  }

  private async newcomer(
    caller: Caller,
    { name, kind = 'person', identity, role }: AddMemberInput,
    drawn: Draw,
  ): Promise<NewPrincipal> {
    if (name === undefined)
      throw invalid(
        'name',
        'is missing',
        'name somebody new, or give the principal of somebody known',
      );
    const newcomer: NewPrincipal = {
      organisation: caller.organisation,
      principal: drawn.id('p'),
      kind,
      name,
      identity,
      request: drawn.request,
    };
    // Before anybody is registered, what the workspace would refuse.
    assertMayTouch(caller, role);
    assertFits(kind, role);
    await this.onOrganisation(caller, { type: 'Register', ...newcomer }, drawn.command);
    return newcomer;
  }

  private async known(
    { organisation }: Caller,
    { name, kind, identity }: AddMemberInput,
    principal: string,
  ): Promise<Pick<NewPrincipal, 'principal' | 'kind'>> {
    if (name !== undefined || kind !== undefined || identity !== undefined)
      throw invalid(
        'principal',
        'names somebody known, and name, kind and identity describe somebody new',
        'give the one or the other',
      );
    const found = await this.models.read((reads) => principalView(reads, organisation, principal));
    if (found?.active !== true) throw unknown('principal', 'principal');
    return { principal, kind: found.kind };
  }
}

@CommandHandler(SetMemberRole)
export class SetMemberRoleHandler extends Administration implements ICommandHandler<SetMemberRole> {
  async execute({ caller, input: { principal, role } }: SetMemberRole): Promise<ChangedMember> {
    assertAdministers(caller);
    const by = { principal: caller.principal, role: caller.role };
    await this.onWorkspace(caller, { type: 'SetRole', by, principal, role });
    return memberShown(this.models, caller, principal);
  }
}

@CommandHandler(RemoveMember)
export class RemoveMemberHandler extends Administration implements ICommandHandler<RemoveMember> {
  /** Once more for a former member: nothing. */
  async execute({ caller, input: { principal, reason } }: RemoveMember): Promise<ChangedMember> {
    assertAdministers(caller);
    const { workspace } = caller;
    const known = await this.models.read((reads) => memberView(reads, workspace, principal));
    if (!known) throw unknown('principal', 'principal');
    const by = { principal: caller.principal, role: caller.role };
    await this.onWorkspace(caller, {
      type: 'RemoveMember',
      by,
      principal,
      reason,
      now: this.clock(),
    });
    return memberShown(this.models, caller, principal);
  }
}

@CommandHandler(RegisterPrincipal)
export class RegisterPrincipalHandler
  extends Administration
  implements ICommandHandler<RegisterPrincipal>
{
  async execute({ caller, input, id }: RegisterPrincipal): Promise<ChangedPrincipal> {
    await assertOwnsOrganisation(this.models, caller);
    const drawn = draw('register_principal', caller, input);
    const { name, kind, identity } = input;
    const principal = id ?? drawn.id('p');
    await this.onOrganisation(
      caller,
      {
        type: 'Register',
        organisation: caller.organisation,
        principal,
        name,
        kind,
        identity,
        request: drawn.request,
      },
      drawn.command,
    );
    return principalShown(this.models, caller, principal);
  }
}

@CommandHandler(DeactivatePrincipal)
export class DeactivatePrincipalHandler
  extends Administration
  implements ICommandHandler<DeactivatePrincipal>
{
  /**
   * Leaves every workspace first, where his keys end, and is marked last: a workspace that would lose its last owner refuses, and
   * nothing has happened. Cut short between, the same command goes on.
   */
  async execute({
    caller,
    input: { principal, reason },
  }: DeactivatePrincipal): Promise<ChangedPrincipal> {
    await assertOwnsOrganisation(this.models, caller);
    const { organisation } = caller;
    const known = await this.models.read((reads) => principalView(reads, organisation, principal));
    if (!known) throw unknown('principal', 'principal');
    if (known.active) {
      const places = known.workspaces.map(({ workspace }) => ({ ...caller, workspace }));
      await this.assertReplaceable(principal, caller, places);
      const by = { principal: caller.principal, role: 'owner' } as const;
      for (const place of places)
        await this.onWorkspace(place, {
          type: 'RemoveMember',
          by,
          principal,
          reason,
          now: this.clock(),
        });
      await this.onOrganisation(caller, { type: 'Deactivate', organisation, principal, reason });
    }
    return principalShown(this.models, caller, principal);
  }

  private async assertReplaceable(
    principal: string,
    caller: Caller,
    places: readonly Caller[],
  ): Promise<void> {
    const left: string[] = [];
    for (const { workspace } of places) {
      const { state } = await this.streams.load(workspaceStreams, workspaceStream(workspace));
      if (state.status === 'open' && isLastOwner(principal, state)) left.push(workspace);
    }
    const { state } = await this.streams.load(
      organisationStreams,
      organisationStream(caller.organisation),
    );
    const last = state.status === 'open' && state.owners.size === 1 && state.owners.has(principal);
    if (left.length === 0 && !last) return;
    throw new Refusal('conflict', 'last_owner', 'the last owner cannot be deactivated', {
      path: 'principal',
      issues: [
        ...left.map((id) => ({
          path: 'principal',
          problem: `is the last owner of workspace ${id}`,
        })),
        ...(last ? [{ path: 'principal', problem: 'is the last owner of the organisation' }] : []),
      ],
      fix: 'make somebody else an owner there first',
    });
  }
}

@CommandHandler(LinkIdentity)
export class LinkIdentityHandler extends Administration implements ICommandHandler<LinkIdentity> {
  async execute({ caller, input }: LinkIdentity): Promise<ChangedPrincipal> {
    await assertOwnsOrganisation(this.models, caller);
    const { principal, ...identity } = input;
    await this.onOrganisation(caller, { type: 'LinkIdentity', principal, identity });
    return principalShown(this.models, caller, principal);
  }
}

@CommandHandler(UnlinkIdentity)
export class UnlinkIdentityHandler
  extends Administration
  implements ICommandHandler<UnlinkIdentity>
{
  async execute({ caller, input }: UnlinkIdentity): Promise<ChangedPrincipal> {
    await assertOwnsOrganisation(this.models, caller);
    const { principal, ...identity } = input;
    await this.onOrganisation(caller, { type: 'UnlinkIdentity', principal, identity });
    return principalShown(this.models, caller, principal);
  }
}
