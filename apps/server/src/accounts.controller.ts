import { Controller, Inject } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { GetPrincipal, LinkIdentity } from '#access/module.js';
import { CallerOf, Input, Operation } from '#http/operation.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { Invitation, InvitationInput } from './accounts.contract.js';
import { LOCAL_ISSUER } from './people.js';
import { ACCOUNTS, type Accounting } from './sign-in.js';

@Controller('v1')
export class AccountsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    @Inject(ACCOUNTS) private readonly accounting: Accounting,
  ) {}

  /** Linking asks for an owner of the organisation, and is what makes the account worth anything: it comes first. */
  @Operation(
    'POST',
    'accounts/invitations',
    'A one-time link with which a person sets a password',
    InvitationInput,
    Invitation,
    201,
  )
  async invite(
    @CallerOf() caller: Caller,
    @Input(InvitationInput) { principal, login }: InvitationInput,
  ): Promise<Invitation> {
    const { desk } = this.accounting;
    if (!desk) throw noAccounts();
    const { identities } = await this.queries.execute(new GetPrincipal(caller, { principal }));
    const subject = desk.subjectAmong(identities);
    desk.assertFree(subject, login, caller.organisation);
    const identity = { principal, issuer: LOCAL_ISSUER, subject };
    await this.commands.execute(new LinkIdentity(caller, identity));
    const { url, expires, ...invited } = desk.invite(subject, login, caller.organisation);
    return {
      principal,
      login: invited.login,
      url,
      expires_at: new Date(expires).toISOString(),
    };
  }
}

function noAccounts(): Refusal {
  return new Refusal('not_found', 'no_accounts', 'people of this server sign in elsewhere', {
    fix: 'manage accounts at the provider that PRECEDENT_OIDC_ISSUER names',
  });
}
