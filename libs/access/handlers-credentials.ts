import { Inject, Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { originOf, Streams, type Executed } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { isoMs, whenMs } from '#kernel/time.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { ChangedCredential } from './contract-credentials.js';
import { shortOf } from './domain/api-key.js';
import { administers, assertAdministers, assertFullKey, requires } from './domain/authority.js';
import { unknown } from './domain/refusals.js';
import type { WorkspaceCommand } from './domain/workspace.js';
import type { WorkspaceEvent } from './domain/workspace.events.js';
import { KEY_RING, newKey, type KeyRing } from './handlers.js';
import { credentialShown } from './handlers-queries.js';
import { IssueCredential, RerollCredential, RevokeCredential } from './messages.js';
import { credentialView } from './projections/listings.js';
import { workspaceView } from './projections/views.js';
import { draw, workspaceStream, workspaceStreams } from './streams.js';

@Injectable()
abstract class Keys {
  constructor(
    private readonly streams: Streams,
    protected readonly models: ReadModels,
    @Inject(CLOCK) protected readonly clock: Clock,
    @Inject(KEY_RING) protected readonly ring: KeyRing,
  ) {}

  /** Returns once this server's directory has it: its very next request sees the key as it is now (B40). */
  protected async change(
    caller: Caller,
    command: WorkspaceCommand,
    id: string,
  ): Promise<Executed<unknown, WorkspaceEvent>> {
    const stream = workspaceStream(caller.workspace);
    const done = await this.streams.execute(
      workspaceStreams,
      stream,
      command,
      originOf(caller, id),
    );
    await this.models.settled(done.position);
    return done;
  }

  /** A date is the first moment of that day in the workspace's zone. */
  protected instant(caller: Caller, when: string | undefined): string | undefined {
    if (when === undefined) return undefined;
    const { zone } = this.models.now((reads) => workspaceView(reads, caller.workspace));
    return isoMs(whenMs(when, zone));
  }

  /** Admins and owners change every key, others their own; a limited key only itself. Another's is as good as none (B38). */
  protected async assertMayChange(caller: Caller, short: string): Promise<void> {
    if (caller.kind === 'agent')
      throw requires('admin', 'keys of agents are changed by an admin or owner');
    if (caller.credential === `prec_${short}`) return;
    const { workspace } = caller;
    const now = this.clock();
    const known = await this.models.read((reads) => credentialView(reads, workspace, short, now));
    if (!known) throw unknown('credential', 'short');
    if (!administers(caller) && known.principal !== caller.principal)
      throw unknown('credential', 'short');
    assertFullKey(caller);
  }
}

const byOf = ({ principal, role }: Caller) => ({ principal, role });

@CommandHandler(IssueCredential)
export class IssueCredentialHandler extends Keys implements ICommandHandler<IssueCredential> {
  async execute({ caller, input }: IssueCredential): Promise<ChangedCredential> {
    const { principal = caller.principal, label = '', toolsets = null } = input;
    if (principal !== caller.principal) assertAdministers(caller);
    else if (caller.kind === 'agent')
      throw requires('admin', 'an agent is given its keys by an admin or owner');
    else assertFullKey(caller);
    const drawn = draw('issue_credential', caller, input);
    const given = drawn.request && shortOf(caller.workspace, drawn.command);
    const { text, short, secret } = newKey(this.ring.pepper, given);
    const expiresAt = this.instant(caller, input.expires_at) ?? null;
    const { events } = await this.change(
      caller,
      {
        type: 'IssueCredential',
        by: byOf(caller),
        principal,
        credential: { short, secret, label, toolsets, expiresAt, request: drawn.request },
        now: this.clock(),
      },
      drawn.command,
    );
    return credentialShown(
      this.models,
      this.ring,
      this.clock(),
      caller,
      short,
      events.length > 0 ? text : undefined,
    );
  }
}

@CommandHandler(RerollCredential)
export class RerollCredentialHandler extends Keys implements ICommandHandler<RerollCredential> {
  async execute({ caller, input }: RerollCredential): Promise<ChangedCredential> {
    const { short, overlap_seconds: seconds = 0 } = input;
    await this.assertMayChange(caller, short);
    const drawn = draw('reroll_credential', caller, input);
    const { text, secret } = newKey(this.ring.pepper, short);
    const { events } = await this.change(
      caller,
      {
        type: 'RerollCredential',
        by: byOf(caller),
        short,
        secret,
        now: this.clock(),
        overlap: seconds * 1_000,
        expiresAt: this.instant(caller, input.expires_at),
        request: drawn.request,
      },
      drawn.command,
    );
    return credentialShown(
      this.models,
      this.ring,
      this.clock(),
      caller,
      short,
      events.length > 0 ? text : undefined,
    );
  }
}

@CommandHandler(RevokeCredential)
export class RevokeCredentialHandler extends Keys implements ICommandHandler<RevokeCredential> {
  async execute({
    caller,
    input: { short, reason },
  }: RevokeCredential): Promise<ChangedCredential> {
    await this.assertMayChange(caller, short);
    const { command } = draw('revoke_credential', caller, {});
    await this.change(
      caller,
      { type: 'RevokeCredential', by: byOf(caller), short, reason },
      command,
    );
    return credentialShown(this.models, this.ring, this.clock(), caller, short);
  }
}
