import { Refusal } from './refusal.js';

/** Member of a workspace, by rising power. `approver` decides on approvals asked of people; it does not govern decisions. */
export type Role = 'member' | 'approver' | 'admin' | 'owner';
export type PrincipalKind = 'person' | 'agent' | 'service';
/** Who governs decisions: admins and owners (`reviewed`) or every member (`peer`). */
export type AuthorityMode = 'reviewed' | 'peer';

/** Parts of the product that a client may ask for alone; a credential may be limited to some. */
export const TOOLSETS = ['decisions', 'evaluation', 'rules', 'jobs', 'annotation'] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** The one identity that any credential leads to. The workspace comes from here alone, never from a request. */
export interface Caller {
  workspace: string;
  /** The one that the workspace belongs to. */
  organisation: string;
  principal: string;
  kind: PrincipalKind;
  role: Role;
  /** Short, public part of the credential; what the ledger records of it. */
  credential: string;
  mode: AuthorityMode;
  /** Nobody approves what he proposed himself. */
  fourEyes: boolean;
  /** What the credential is limited to; absent: all that its kind and role admit. */
  toolsets?: readonly string[];
}

/** Recorded with every event. */
export interface Actor {
  principal: string;
  kind: PrincipalKind | 'system';
  credential: string | null;
}

export function actorOf(caller: Caller): Actor {
  return { principal: caller.principal, kind: caller.kind, credential: caller.credential };
}

/** Governs decisions under the organisation's mode (O-06). An agent's key never does, whatever the mode. */
export function isGovernor(caller: Caller): boolean {
  if (caller.kind === 'agent') return false;
  return caller.mode === 'peer' || caller.role === 'admin' || caller.role === 'owner';
}

/** O-06, O-07: refuses everybody who does not govern under the organisation's mode. `what` completes "… may …". */
export function assertGovernor(caller: Caller, what: string, fix: string, path?: string): void {
  if (isGovernor(caller)) return;
  throw new Refusal(
    'forbidden',
    'requires_governor',
    caller.kind === 'agent'
      ? `an agent’s key may never ${what}`
      : `in this organisation’s mode only an admin or owner may ${what}`,
    path === undefined
      ? { fix }
      : { path, issues: [{ path, problem: `needs a governor: ${what}` }], fix },
  );
}

/** Milliseconds since 1970, UTC. Injected everywhere; only an entry point passes `Date.now`. */
export type Clock = () => number;
