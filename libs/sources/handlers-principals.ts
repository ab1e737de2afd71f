import {
  assertFullKey,
  ownership,
  principalStanding,
  requires,
  type PrincipalStanding,
} from '#access/index.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { principalKey } from '#kernel/sealing.js';
import type { Reads } from '#projections/read-database.js';
import type { Use } from './projections/subject-queries.js';

/** What a caller names, and where it is on record what becomes of it. */
export interface Target {
  /** Workspace in whose log holds and erasure of the key stand: one, whoever asks from where. */
  workspace: string;
  key: string;
  /** Every key that goes with it, and where it seals. */
  uses: readonly Use[];
  /** Where it is somebody who acts. */
  principal?: PrincipalStanding;
}

/** Who acts belongs to the organisation, so only its owners decide about his data. */
export function assertOwner(reads: Reads, caller: Caller): void {
  if (!ownership(reads, caller.organisation, caller.principal).owner)
    throw requires(
      'owner',
      'only an owner of the organisation decides about the data of who acts in it',
    );
  assertFullKey(caller);
}

/**
 * His key is that of the organisation, and what is decided about it is recorded in its first workspace. With it go the keys of his own
 * words, of which there is one for each workspace. Undefined for one of another organisation as for one that is not there.
 */
export function principalTarget(
  reads: Reads,
  { organisation }: Caller,
  id: string,
): Target | undefined {
  const principal = principalStanding(reads, organisation, id);
  const [workspace] = principal?.workspaces ?? [];
  if (!principal || workspace === undefined) return undefined;
  const key = principalKey(organisation, id);
  const uses = principal.workspaces.flatMap((place): Use[] => [
    [place, key],
    [place, principalKey(place, id)],
  ]);
  return { workspace, key, uses, principal };
}

/** Where what is recorded of principals stands, for who may see it. */
export function homeOf(reads: Reads, caller: Caller): string | undefined {
  const { organisation, principal } = caller;
  if (caller.toolsets !== undefined || !ownership(reads, organisation, principal).owner)
    return undefined;
  return principalStanding(reads, organisation, principal)?.workspaces[0];
}

/** Deactivated for ever and reached by no identity: nothing that is written later can be his. */
export function assertGone({ active, lastOwner, identities }: PrincipalStanding): void {
  if (lastOwner)
    throw standing('last_owner', 'is the last owner of the organisation', {
      fix: 'make somebody else an owner, then deactivate this one',
    });
  if (active)
    throw standing('principal_active', 'is active', {
      fix: 'deactivate first: "precedent people deactivate", POST /v1/principals/{principal}/deactivation',
    });
  if (identities > 0)
    throw standing('identity_linked', `can be reached by ${identities} identities`, {
      fix: 'unlink them first: "precedent people unlink"; GET /v1/principals/{principal} lists them',
    });
}

function standing(error: string, problem: string, { fix }: { fix: string }): Refusal {
  return new Refusal('conflict', error, `the principal ${problem}`, {
    path: 'principal',
    issues: [{ path: 'principal', problem }],
    fix,
  });
}
