import { Command, Query } from '@nestjs/cqrs';
import type { AuthorityMode, Caller, PrincipalKind, Role } from '#kernel/context.js';

/** Creates the first workspace, its owner and a key for him. Done once; later calls return nothing. */
export class BootstrapWorkspace extends Command<{ key: string } | undefined> {
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

export class AddMember extends Command<void> {
  constructor(
    readonly caller: Caller,
    readonly member: { principal: string; kind: PrincipalKind; name: string; role: Role },
  ) {
    super();
  }
}

/** The key is in the answer and nowhere else. */
export class IssueCredential extends Command<{ key: string }> {
  constructor(
    readonly caller: Caller,
    readonly principal: string,
  ) {
    super();
  }
}

export class RevokeCredential extends Command<void> {
  constructor(
    readonly caller: Caller,
    readonly short: string,
    readonly reason: string,
  ) {
    super();
  }
}
