import type { Caller, PrincipalKind, Role } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';

/** Who changes members and keys, as far as a workspace must know: to others he may give no more than he has. */
export interface Authority {
  principal: string;
  role: Role;
}

/** Members and keys are the business of admins and owners, with a key that is not limited; never an agent's. */
export function assertAdministers(caller: Caller): void {
  if (!administers(caller)) throw requires('admin', 'only an admin or owner may do this');
  assertFullKey(caller);
}

export function administers(caller: Caller): boolean {
  return caller.kind !== 'agent' && (caller.role === 'admin' || caller.role === 'owner');
}

/** A key that is limited to toolsets is for these alone. */
export function assertFullKey(caller: Caller): void {
  if (caller.toolsets === undefined) return;
  throw new Refusal(
    'forbidden',
    'requires_full_key',
    'a key that is limited to toolsets may not do this',
    {
      fix: 'use a key without limits',
    },
  );
}

export function requires(role: 'admin' | 'owner' | 'operator', message: string): Refusal {
  return new Refusal('forbidden', `requires_${role}`, message, {
    fix: `ask ${role === 'operator' ? 'who runs the server' : `an ${role}`}`,
  });
}

/** Owners are made, unmade and given keys by owners alone: else an admin could become one through a key. */
export function assertMayTouch(by: Authority, ...roles: readonly (Role | undefined)[]): void {
  if (by.role !== 'owner' && roles.includes('owner'))
    throw requires('owner', 'only an owner may do this to an owner');
}

/** An agent is a member and never more; a service may administer, but what is owned is owned by people. */
export function assertFits(kind: PrincipalKind, role: Role): void {
  const fits = kind === 'person' || role === 'member' || (kind === 'service' && role !== 'owner');
  if (fits) return;
  const [who, most] = kind === 'agent' ? ['an agent', 'member'] : ['a service', 'admin'];
  throw new Refusal('conflict', `${kind}_role`, `${who} is at most ${most}`, {
    path: 'role',
    issues: [{ path: 'role', problem: `may be at most ${most} for this kind` }],
    fix: `give it the role ${most}`,
  });
}
