import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isLive } from '#access/domain/workspace-credentials.js';
import { workspaceDecider, type WorkspaceCommand } from '#access/domain/workspace.js';
import type { OpenWorkspace, Workspace } from '#access/domain/workspace-state.js';
import type { PrincipalKind, Role } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { proved } from '../support/proved.js';

// Whatever members ask for, in whatever order: who rules a workspace stays as the rules of docs/operations.md say.

const KIND: Readonly<Record<string, PrincipalKind>> = {
  ann: 'person',
  ben: 'person',
  cas: 'person',
  bot: 'agent',
  erp: 'service',
};
const principal = fc.constantFrom(...Object.keys(KIND), 'owner');
const role = fc.constantFrom<Role>('member', 'approver', 'admin', 'owner');
const short = fc.constantFrom('K1', 'K2', 'K3', 'K0');

/** By whom, what, when; the doors let only admins and owners ask. */
const step = fc.record({
  by: fc.nat(5),
  after: fc.nat(100),
  act: fc.oneof(
    fc.record({ type: fc.constant('AddMember' as const), principal, role }),
    fc.record({ type: fc.constant('SetRole' as const), principal, role }),
    fc.record({ type: fc.constant('RemoveMember' as const), principal }),
    fc.record({
      type: fc.constant('IssueCredential' as const),
      principal,
      short,
      holds: fc.nat(200),
    }),
    fc.record({ type: fc.constant('RerollCredential' as const), short }),
    fc.record({ type: fc.constant('RevokeCredential' as const), short }),
  ),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function commandOf(
  { act }: Step,
  by: { principal: string; role: Role },
  now: number,
): WorkspaceCommand {
  switch (act.type) {
    case 'AddMember':
      return { ...act, by, kind: KIND[act.principal] ?? 'person' };
    case 'SetRole':
      return { ...act, by };
    case 'RemoveMember':
      return { ...act, by, reason: 'r', now };
    case 'IssueCredential': {
      const expiresAt = new Date(now + act.holds).toISOString();
      const credential = { short: act.short, secret: 's', label: '', toolsets: null, expiresAt };
      return { type: act.type, by, principal: act.principal, credential, now };
    }
    case 'RerollCredential':
      return { ...act, by, secret: 't', now, overlap: 0 };
    case 'RevokeCredential':
      return { ...act, by, reason: 'r' };
  }
}

function opened(): OpenWorkspace {
  const credential = { short: 'K0', secret: 's', label: '', toolsets: null, expiresAt: null };
  const create = {
    type: 'Create',
    name: 'W',
    organisation: 'o',
    zone: 'UTC',
    owner: 'owner',
    credential,
  } as const;
  const workspace = workspaceDecider
    .decide(create, { status: 'absent' })
    .reduce<Workspace>((s, e) => workspaceDecider.evolve(s, e, 0), { status: 'absent' });
  if (workspace.status === 'absent') throw new Error('not created');
  return workspace;
}

const owners = ({ members }: OpenWorkspace): string[] =>
  [...members].filter(([, m]) => m.role === 'owner').map(([id]) => id);

describe('roles and keys of a workspace', () => {
  it('O-04, O-07: keep their rules under any sequence of commands', () => {
    const counts = { histories: 0, 'commands accepted': 0, 'commands refused': 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 15, maxLength: 40 }), (steps) => {
        counts.histories += 1;
        const workspace = opened();
        let now = 1_000;
        for (const taken of steps) {
          now += taken.after;
          const rulers = [...workspace.members].filter(
            ([, m]) => m.role === 'admin' || m.role === 'owner',
          );
          const [id = '', { role: mine } = { role: 'member' as Role }] =
            rulers[taken.by % rulers.length] ?? [];
          const before = owners(workspace);
          const live = new Set(
            [...workspace.credentials].filter(([, c]) => isLive(c, now)).map(([k]) => k),
          );
          try {
            const events = workspaceDecider.decide(
              commandOf(taken, { principal: id, role: mine }, now),
              workspace,
            );
            for (const event of events) workspaceDecider.evolve(workspace, event, now);
            counts['commands accepted'] += 1;
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            counts['commands refused'] += 1;
          }
          const after = owners(workspace);
          expect(after.length).toBeGreaterThan(0);
          // Only an owner makes or unmakes owners.
          if (mine !== 'owner') expect(after.sort()).toEqual(before.sort());
          for (const [member, { kind, role: has }] of workspace.members) {
            expect(kind).toBe(KIND[member] ?? 'person');
            if (kind === 'agent') expect(has).toBe('member');
            if (kind === 'service') expect(has).not.toBe('owner');
          }
          for (const [key, credential] of workspace.credentials) {
            if (!isLive(credential, now)) continue;
            expect(workspace.members.has(credential.principal)).toBe(true);
            // What ended stays ended: a live key was live before, or has just been issued.
            if (!live.has(key))
              expect(taken.act).toMatchObject({ type: 'IssueCredential', short: key });
          }
        }
      }),
      { numRuns: 1_000 },
    );
    expect(counts['commands accepted']).toBeGreaterThan(1_000);
    expect(counts['commands refused']).toBeGreaterThan(1_000);
    proved('roles and keys', counts);
  });
});
