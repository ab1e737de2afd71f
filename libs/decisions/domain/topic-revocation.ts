import { Refusal } from '#kernel/refusal.js';
import { isoMs } from '#kernel/time.js';
import { openedBy, settledBy, type Comparing } from './topic-conflict.js';
import { fourEyesRequired, holdsUntil } from './topic-refusals.js';
import { endsAfter, isApproved, type Decision, type Timing, type Topic } from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

/** Ends an approved decision without a successor (QO-27), or sooner than it was to end. What it superseded stays superseded. */
export function revoke(
  command: { reason: string; from?: string | undefined; fourEyes?: string | undefined } & Timing,
  topic: Topic,
  decision: Decision,
): TopicEvent[] {
  const endMs = command.from === undefined ? command.nowMs : command.toMs(command.from);
  if (!isRevocable(topic, decision, endMs, command.nowMs))
    throw notRevocable(topic, decision, command.nowMs);
  const revoked: TopicEvent = {
    type: 'DecisionRevoked',
    data: { decision_id: decision.id, reason: command.reason, ends_at: isoMs(endMs) },
  };
  const settled = settledBy(
    topic,
    [revoked],
    {
      reason: `${decision.id} was revoked`,
      winnerOf: (left) => (left.length === 1 ? left[0] : undefined),
    },
    command,
  );
  // Else whoever may not let his own claim prevail would revoke the other one instead.
  const own = freedBy(topic, decision, settled, command).find(
    (id) => topic.decisions.get(id)?.proposedBy === command.fourEyes,
  );
  if (own !== undefined) throw fourEyesRequired('decision_id', own);
  return [revoked, ...settled];
}

/** Winners of the conflicts that a revocation settles, and whatever else in them it contradicts no longer. */
function freedBy(
  topic: Topic,
  { id }: Decision,
  settled: readonly TopicEvent[],
  comparing: Comparing,
): string[] {
  const rivals = openedBy(topic, [], id, comparing).flatMap((e) =>
    e.type === 'ConflictOpened' ? e.data.claims.filter((claim) => claim !== id) : [],
  );
  return settled.flatMap((e) => {
    if (e.type !== 'ConflictResolved') return [];
    const { conflict_id, winner } = e.data;
    const claims = topic.openConflicts.get(conflict_id) ?? [];
    return claims.filter((claim) => claim === winner || rivals.includes(claim));
  });
}

function isRevocable(topic: Topic, decision: Decision, fromMs: number, nowMs: number): boolean {
  if (decision.status === 'approved') return true;
  return isApproved(decision) && endsAfter(topic, decision, fromMs, nowMs);
}

function notRevocable(topic: Topic, decision: Decision, nowMs: number): Refusal {
  const { id, status } = decision;
  if (!isApproved(decision)) {
    const candidate = status === 'candidate';
    return new Refusal(
      'conflict',
      candidate ? 'not_approved' : 'already_decided',
      `${id} is ${status}; only an approved decision can be revoked`,
      {
        path: 'decision_id',
        issues: [{ path: 'decision_id', problem: `its state is ${status}, not approved` }],
        fix: candidate ? 'reject or retract a candidate' : 'nothing is left to revoke',
      },
    );
  }
  const until = holdsUntil(decision, nowMs);
  const open = endsAfter(topic, decision, nowMs, nowMs);
  return new Refusal('conflict', 'already_decided', `${id} is ${status} already; ${until}`, {
    path: open ? 'effective_from' : 'decision_id',
    issues: [
      open
        ? { path: 'effective_from', problem: `is not before its end, ${isoMs(decision.endMs)}` }
        : { path: 'decision_id', problem: `its state is ${status}; ${until}` },
    ],
    fix: open
      ? 'give an earlier effective_from to end it sooner; get_decision_history shows what ends it'
      : 'nothing is left to revoke; get_decision_history shows what ended it',
  });
}
