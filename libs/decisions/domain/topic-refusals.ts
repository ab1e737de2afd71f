import { Refusal } from '#kernel/refusal.js';
import { isoMs } from '#kernel/time.js';
import type { Validity } from './claim.js';
import type { Decision, Held, Topic } from './topic-state.js';

export function ring(members: readonly string[]): Refusal {
  return new Refusal('conflict', 'supersession_cycle', `supersession would form a ring`, {
    path: 'supersedes',
    issues: members.map((id) => ({ path: 'supersedes', problem: id })),
    fix: 'leave out the link that closes the ring',
  });
}

export function unknownTarget(id: string, path = 'supersedes'): Refusal {
  return new Refusal('invalid', 'unknown_target', `no decision ${id} in this topic`, {
    path,
    issues: [{ path, problem: `${id} is no decision of this topic` }],
    fix: 'name decisions of the same topic; get_decision_history lists them',
  });
}

/** B43: a review names what was inspected; where that is not what it would be about, nothing happens. */
export function assertInspected(
  topic: Topic,
  decision: Decision,
  inspected: string | undefined,
): void {
  if (inspected !== undefined && inspected !== decision.contentHash)
    throw staleRevision(topic, inspected, decision);
}

/** Says what differs where the inspected one is known. */
export function staleRevision(topic: Topic, inspected: string, present: Decision): Refusal {
  const before = [...topic.decisions.values()].find((d) => d.contentHash === inspected);
  return new Refusal('conflict', 'stale_revision', 'the candidate is not what was inspected', {
    path: 'content_hash',
    issues: [
      { path: 'content_hash', problem: `the candidate has the hash ${present.contentHash}` },
      ...(before ? differences(before, present) : []),
    ],
    fix: `inspect ${present.id} and name its content_hash`,
  });
}

/** Words from outside are named only, never repeated in a refusal; dates and ids are. */
const COMPARED = {
  meaning: 'statement or value',
  scope: 'scope',
  documentKey: 'document',
  effectiveFrom: 'effective_from',
  effectiveTo: 'effective_to',
  decidedAt: 'decided_at',
  supersedes: 'supersedes',
} as const satisfies Partial<Record<keyof Held, string>>;
const NAMED_ONLY: readonly string[] = ['meaning', 'scope', 'documentKey'];

function differences(before: Held, now: Held): { path: string; problem: string }[] {
  return Object.entries(COMPARED).flatMap(([key, path]) => {
    const field = key as keyof typeof COMPARED;
    const [was, is] = [shown(before[field]), shown(now[field])];
    if (was === is) return [];
    const problem = NAMED_ONLY.includes(key)
      ? 'differs from what was inspected'
      : `was ${was}, is ${is}`;
    return [{ path, problem }];
  });
}

function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}

/** Until when a decision that was superseded or revoked holds or held, in words. */
export function holdsUntil({ startMs, endMs }: Validity, nowMs: number): string {
  if (endMs <= startMs) return 'it never held';
  return `it ${endMs > nowMs ? 'holds' : 'held'} until ${isoMs(endMs)}`;
}

/** Nobody approves what nobody can inspect. */
export function unreadable(id: string): Refusal {
  return new Refusal('conflict', 'decision_erased', `what ${id} says was erased`, {
    path: 'decision_id',
    issues: [{ path: 'decision_id', problem: 'has no words left that could be approved' }],
    fix: 'reject or retract it',
  });
}

export const FOUR_EYES = 'four_eyes_required';

/** QO-12: a second person is wanted, and this is the first one again. */
export function fourEyesRequired(path: string, id: string): Refusal {
  return new Refusal('forbidden', FOUR_EYES, `${id} was proposed by you`, {
    path,
    issues: [{ path, problem: 'this organisation wants another person than the proposer' }],
    fix: 'ask another governor of the workspace',
  });
}
