import { Inject, Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { invalid } from '#kernel/refusal.js';
import { isZone } from '#kernel/time.js';
import { ReadModels } from '#projections/read-models.js';
import type {
  CreatedOrganisation,
  CreatedWorkspace,
  Organisation,
  WorkspaceSettings,
} from './contract.js';
import { assertAdministers, assertFullKey, requires } from './domain/authority.js';
import type { OrganisationCommand } from './domain/organisation.js';
import { newKey, KEY_RING, type KeyRing } from './handlers.js';
import { assertOwnsOrganisation, organisationShown, workspaceShown } from './handlers-queries.js';
import {
  AddOwner,
  ChangeOrganisation,
  ChangeWorkspace,
  CreateOrganisation,
  CreateWorkspace,
  RemoveOwner,
} from './messages.js';
import { ownership } from './projections/views.js';
import {
  draw,
  organisationStream,
  organisationStreams,
  workspaceStream,
  workspaceStreams,
  type Draw,
} from './streams.js';

function zoneOf(zone = 'UTC'): string {
  if (isZone(zone)) return zone;
  throw invalid('zone', 'is no IANA zone', 'give one like Europe/Paris');
}

/** The first owner and a key for him come in the append that makes the workspace. */
async function openWorkspace(
  streams: Streams,
  ring: KeyRing,
  caller: Caller,
  { command, request, id }: Draw,
  workspace: { name: string; zone: string; organisation: string; owner: string },
): Promise<CreatedWorkspace> {
  const place = id('w');
  const key = newKey(ring.pepper);
  const { short, secret } = key;
  const { state, events, position } = await streams.execute(
    workspaceStreams,
    workspaceStream(place),
    {
      type: 'Create',
      ...workspace,
      credential: { short, secret, label: 'first key', toolsets: null, expiresAt: null },
      request,
    },
    { ...originOf(caller, command), workspace: place },
  );
  const [first = short] = state.status === 'open' ? state.credentials.keys() : [];
  return {
    workspace: place,
    principal: workspace.owner,
    credential: first,
    // Repeated, the key that was shown then is not known any more.
    ...(events.length > 0 ? { key: key.text } : {}),
    position: String(position),
  };
}

@CommandHandler(CreateOrganisation)
export class CreateOrganisationHandler implements ICommandHandler<CreateOrganisation> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(KEY_RING) private readonly ring: KeyRing,
  ) {}

  /** Two appends; cut short between them, the same `request_id` goes on. The operator is no member of what he makes. */
  async execute({ caller, input }: CreateOrganisation): Promise<CreatedOrganisation> {
    const { organisation: home, principal } = caller;
    const { operator } = await this.models.read((reads) => ownership(reads, home, principal));
    if (!operator) throw requires('operator', 'only the operator may create organisations');
    assertFullKey(caller);
    const zone = zoneOf(input.zone);
    const drawn = draw('create_organisation', caller, input);
    const [organisation, owner] = [drawn.id('o'), drawn.id('p')];
    await this.streams.execute(
      organisationStreams,
      organisationStream(organisation),
      {
        type: 'Create',
        name: input.name,
        mode: input.mode ?? 'reviewed',
        operator: false,
        owner: {
          organisation,
          principal: owner,
          kind: 'person',
          name: input.owner_name,
          identity: input.owner_identity,
        },
        request: drawn.request,
      },
      { ...originOf(caller, drawn.command), workspace: drawn.id('w') },
    );
    const name = input.workspace_name ?? input.name;
    const made = await openWorkspace(this.streams, this.ring, caller, drawn, {
      name,
      zone,
      organisation,
      owner,
    });
    await this.models.settled();
    return { organisation, ...made };
  }
}

@CommandHandler(CreateWorkspace)
export class CreateWorkspaceHandler implements ICommandHandler<CreateWorkspace> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(KEY_RING) private readonly ring: KeyRing,
  ) {}

  async execute({ caller, input }: CreateWorkspace): Promise<CreatedWorkspace> {
    await assertOwnsOrganisation(this.models, caller);
    const drawn = draw('create_workspace', caller, input);
    const made = await openWorkspace(this.streams, this.ring, caller, drawn, {
      name: input.name,
      zone: zoneOf(input.zone),
      organisation: caller.organisation,
      owner: caller.principal,
    });
    await this.models.settled();
    return made;
  }
}

/** One command on the caller's own organisation, by one of its owners; the answer waits until it counts (mode, four eyes). */
@Injectable()
abstract class OwnOrganisation {
  constructor(
    protected readonly streams: Streams,
    protected readonly models: ReadModels,
  ) {}

  protected async change(caller: Caller, command: OrganisationCommand): Promise<Organisation> {
    await assertOwnsOrganisation(this.models, caller);
    const { command: id } = draw(command.type, caller, {});
    await this.streams.execute(
      organisationStreams,
      organisationStream(caller.organisation),
      command,
      originOf(caller, id),
    );
    return organisationShown(this.models, caller);
  }
}

@CommandHandler(ChangeOrganisation)
export class ChangeOrganisationHandler
  extends OwnOrganisation
  implements ICommandHandler<ChangeOrganisation>
{
  execute({ caller, input }: ChangeOrganisation): Promise<Organisation> {
    const { name, mode, four_eyes: fourEyes, approver_names: approverNames } = input;
    return this.change(caller, { type: 'Change', change: { name, mode, fourEyes, approverNames } });
  }
}

@CommandHandler(AddOwner)
export class AddOwnerHandler extends OwnOrganisation implements ICommandHandler<AddOwner> {
  execute({ caller, input: { principal } }: AddOwner): Promise<Organisation> {
    return this.change(caller, { type: 'AddOwner', principal });
  }
}

@CommandHandler(RemoveOwner)
export class RemoveOwnerHandler extends OwnOrganisation implements ICommandHandler<RemoveOwner> {
  execute({ caller, input: { principal } }: RemoveOwner): Promise<Organisation> {
    return this.change(caller, { type: 'RemoveOwner', principal });
  }
}

@CommandHandler(ChangeWorkspace)
export class ChangeWorkspaceHandler implements ICommandHandler<ChangeWorkspace> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, input }: ChangeWorkspace): Promise<WorkspaceSettings> {
    assertAdministers(caller);
    const { name, answer_capture: answerCapture } = input;
    await this.streams.execute(
      workspaceStreams,
      workspaceStream(caller.workspace),
      { type: 'Change', name, answerCapture },
      originOf(caller, draw('change_workspace', caller, {}).command),
    );
    return workspaceShown(this.models, caller);
  }
}
