import { randomBytes, randomUUID } from 'node:crypto';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { originOf, Streams, type Origin } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { API_KEY_FORM, apiKeyFrom, parseApiKey, type ApiKey } from './domain/api-key.js';
import { workspaceCodec } from './domain/workspace.events.js';
import { workspaceDecider, type WorkspaceCommand } from './domain/workspace.js';
import {
  AddMember,
  Authenticate,
  BootstrapWorkspace,
  IssueCredential,
  RevokeCredential,
} from './messages.js';
import { callerOfKey } from './projections/directory.js';

const kind = { decider: workspaceDecider, codec: workspaceCodec };
/** The one that an empty ledger gets. A fixed name: two servers that start at once cannot both create it. */
const FIRST = { workspace: 'main', organisation: 'main', owner: 'owner' };

function execute(streams: Streams, command: WorkspaceCommand, origin: Origin): Promise<unknown> {
  return streams.execute(kind, `workspace-${origin.workspace}`, command, origin);
}

/** Members and keys are an admin's and an owner's business. */
function administers(caller: Caller): void {
  if (caller.kind === 'agent' || !['admin', 'owner'].includes(caller.role))
    throw new Refusal('forbidden', 'requires_admin', 'only an admin or owner may do this');
}

function newKey(given?: string): { text: string; parsed: ApiKey } {
  const text = given ?? apiKeyFrom(randomBytes(96));
  const parsed = parseApiKey(text);
  if (!parsed)
    throw invalid('PRECEDENT_BOOTSTRAP_KEY', 'is no API key', `use the form ${API_KEY_FORM}`);
  return { text, parsed };
}

@CommandHandler(BootstrapWorkspace)
export class BootstrapWorkspaceHandler implements ICommandHandler<BootstrapWorkspace> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  /** Returns once the workspace can be used, whoever created it. */
  async execute({ key, settings }: BootstrapWorkspace): Promise<{ key: string } | undefined> {
    const stream = `workspace-${FIRST.workspace}`;
    const created = await this.create(stream, key, settings);
    await this.models.settled((await this.streams.load(kind, stream)).position);
    return created;
  }

  private async create(
    stream: string,
    key: string | undefined,
    settings: BootstrapWorkspace['settings'],
  ): Promise<{ key: string } | undefined> {
    if ((await this.streams.load(kind, stream)).state.status !== 'absent') return undefined;
    const { text, parsed } = newKey(key);
    const command: WorkspaceCommand = {
      type: 'Create',
      name: settings.name,
      organisation: { id: FIRST.organisation, name: settings.name },
      mode: settings.mode,
      zone: settings.zone,
      owner: { principal: FIRST.owner, name: 'Owner' },
      credential: parsed,
    };
    const id = randomUUID();
    const origin: Origin = {
      workspace: FIRST.workspace,
      actor: { principal: 'system', kind: 'system', credential: null },
      command: id,
      correlation: id,
    };
    try {
      await execute(this.streams, command, origin);
      return { key: text };
    } catch (error) {
      // Another server was faster.
      if (error instanceof Refusal && error.error === 'workspace_exists') return undefined;
      throw error;
    }
  }
}

@QueryHandler(Authenticate)
export class AuthenticateHandler implements IQueryHandler<Authenticate> {
  constructor(private readonly models: ReadModels) {}

  async execute({ bearer }: Authenticate): Promise<Caller | undefined> {
    const key = parseApiKey(bearer);
    return key && this.models.now((reads) => callerOfKey(reads, key));
  }
}

@CommandHandler(AddMember)
export class AddMemberHandler implements ICommandHandler<AddMember> {
  constructor(private readonly streams: Streams) {}

  async execute({ caller, member }: AddMember): Promise<void> {
    administers(caller);
    await execute(this.streams, { type: 'AddMember', ...member }, originOf(caller, randomUUID()));
  }
}

@CommandHandler(IssueCredential)
export class IssueCredentialHandler implements ICommandHandler<IssueCredential> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, principal }: IssueCredential): Promise<{ key: string }> {
    administers(caller);
    const { text, parsed } = newKey();
    const command = { type: 'IssueCredential', principal, credential: parsed } as const;
    await execute(this.streams, command, originOf(caller, randomUUID()));
    await this.models.settled();
    return { key: text };
  }
}

@CommandHandler(RevokeCredential)
export class RevokeCredentialHandler implements ICommandHandler<RevokeCredential> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  /** Returns once the very next request with that key will be refused (B40). */
  async execute({ caller, short, reason }: RevokeCredential): Promise<void> {
    administers(caller);
    await execute(
      this.streams,
      { type: 'RevokeCredential', short, reason },
      originOf(caller, randomUUID()),
    );
    await this.models.settled();
  }
}
