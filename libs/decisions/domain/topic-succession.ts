import { Refusal, invalid } from '#kernel/refusal.js';
import { FOREVER, isoMs } from '#kernel/time.js';
import { compareScopes, overlap } from './claim.js';
import {
  ring,
  unknownTarget,
  validityOf,
  type Approval,
  type Decision,
  type Timing,
  type Topic,
} from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

/** Approval and what it does to the decisions around it: supersession, confirmation, conflict (QO-10, QO-24). */
export function approve(command: Approval, topic: Topic, decision: Decision): TopicEvent[] {
  if (command.contentHash !== undefined && command.contentHash !== decision.contentHash)
    throw stale(decision.contentHash);
  const validity = validityFrom(command, decision);
  const stated = [...new Set(command.supersedes ?? decision.supersedes)].map((id) =>
    supersedable(topic, decision.id, id, command.supersededBy),
  );
  refuseRing(topic, decision.id, stated, command.supersededBy);
  const approved = { ...decision, status: 'approved' as const, ...validity.ms };
  const besides = [...topic.heads]
    .filter((id) => !stated.some((t) => t.id === id))
    .map((id) => topic.decisions.get(id))
    .filter((d) => d !== undefined);
  const same =
    command.supersededBy === undefined ? besides.filter((d) => confirms(approved, d)) : [];
  const [confirmed] = same;
  if (confirmed && stated.length === 0)
    return [
      {
        type: 'DecisionConfirmed',
        data: { decision_id: confirmed.id, by: decision.id, reason: command.reason },
      },
    ];
  // What replaces some heads and says the same as another takes that one's place too: one head, not two.
  const targets = [...stated, ...same];
  const others = besides.filter((d) => !same.includes(d));
  const starts_at = isoMs(validity.ms.startMs);
  const events: TopicEvent[] = [
    {
      type: 'DecisionApproved',
      data: {
        decision_id: decision.id,
        content_hash: decision.contentHash,
        reason: command.reason,
        ...validity.written,
        starts_at,
        ...(validity.ms.endMs === FOREVER ? {} : { ends_at: isoMs(validity.ms.endMs) }),
        supersedes: targets.map((t) => t.id),
      },
    },
    ...targets.map((t) => superseded(t.id, decision.id, starts_at)),
  ];
  if (command.supersededBy !== undefined)
    events.push(endedBy(topic, decision.id, command.supersededBy));
  events.push(
    ...settle(
      topic,
      targets.map((t) => t.id),
      (left) => (left.length === 0 ? decision.id : undefined),
      `superseded by ${decision.id}`,
    ),
  );
  if (command.supersededBy !== undefined) return events;
  const rivals = others.filter((d) => disagrees(approved, d));
  if (rivals.length > 0) events.push(opened(topic, approved, rivals));
  return events;
}

/** Ends an approved decision without a successor (QO-27). What it superseded stays superseded. */
export function revoke(
  command: { reason: string; from?: string | undefined } & Timing,
  topic: Topic,
  decision: Decision,
): TopicEvent[] {
  if (decision.status !== 'approved') {
    const candidate = decision.status === 'candidate';
    throw new Refusal(
      'conflict',
      candidate ? 'not_approved' : 'already_decided',
      `${decision.id} is ${decision.status}; only an approved decision can be revoked`,
      {
        path: 'decision_id',
        issues: [{ path: 'decision_id', problem: `its state is ${decision.status}, not approved` }],
        fix: candidate
          ? 'reject or retract a candidate'
          : 'nothing is left to revoke; get_decision_history shows what ended it',
      },
    );
  }
  const endMs = command.from === undefined ? command.nowMs : command.toMs(command.from);
  return [
    {
      type: 'DecisionRevoked',
      data: { decision_id: decision.id, reason: command.reason, ends_at: isoMs(endMs) },
    },
    ...settle(
      topic,
      [decision.id],
      (left) => (left.length === 1 ? left[0] : undefined),
      `${decision.id} was revoked`,
    ),
  ];
}

function validityFrom(command: Approval, decision: Decision) {
  const from = command.effectiveFrom ?? decision.effectiveFrom;
  const to = command.effectiveTo ?? decision.effectiveTo;
  const startMs = from === undefined ? command.nowMs : command.toMs(from);
  const endMs = to === undefined ? FOREVER : command.toMs(to);
  if (endMs <= startMs)
    throw invalid(
      'effective_to',
      `${to ?? ''} is not after the start, ${from ?? isoMs(startMs)}`,
      'give an end after the start; the interval is half-open',
    );
  return {
    ms: { startMs, endMs },
    written: {
      ...(from === undefined ? {} : { effective_from: from }),
      ...(to === undefined ? {} : { effective_to: to }),
    },
  };
}

/** The decision to be replaced, if it may be: a head, or an ended one where the new one goes between it and its successor (B09). */
function supersedable(
  topic: Topic,
  newer: string,
  target: string,
  before: string | undefined,
): Decision {
  if (target === newer) throw ring([newer]);
  const found = topic.decisions.get(target);
  if (!found) throw unknownTarget(target);
  if (found.status === 'approved') return found;
  if (found.status === 'superseded') {
    if (found.by === before) return found;
    const head = headAfter(topic, found);
    throw new Refusal('conflict', 'head_moved', `${target} was superseded by ${found.by}`, {
      path: 'supersedes',
      issues: [{ path: 'supersedes', problem: `the head is ${head} now` }],
      fix: `look at ${head}; supersede that one, or leave supersedes empty to have the conflict stated`,
    });
  }
  throw new Refusal('conflict', 'not_approved', `${target} is ${found.status}`, {
    path: 'supersedes',
    issues: [{ path: 'supersedes', problem: `${target} is ${found.status}, not approved` }],
    fix: 'only an approved decision can be superseded',
  });
}

function headAfter(topic: Topic, from: Decision): string {
  return successorsOf(topic, from.id).at(-1) ?? from.id;
}

/** The decision, what ended it, what ended that, and so on. */
function successorsOf(topic: Topic, id: string): string[] {
  const chain = new Set<string>();
  let at = topic.decisions.get(id);
  while (at && !chain.has(at.id)) {
    chain.add(at.id);
    at = at.status === 'superseded' ? topic.decisions.get(at.by) : undefined;
  }
  return [...chain];
}

/** A decision goes between two others only if what it replaces is not what replaced it (B08). */
function refuseRing(
  topic: Topic,
  id: string,
  targets: readonly Decision[],
  successor: string | undefined,
): void {
  if (successor === undefined) return;
  const later = successorsOf(topic, successor);
  const closing = targets.find((t) => later.includes(t.id));
  if (closing) throw ring([id, ...later.slice(0, later.indexOf(closing.id) + 1)]);
}

function superseded(id: string, by: string, ends_at: string): TopicEvent {
  return { type: 'DecisionSuperseded', data: { decision_id: id, by, ends_at } };
}

/** History that was recorded late: the new decision was already replaced by a known one. */
function endedBy(topic: Topic, id: string, successor: string): TopicEvent {
  if (successor === id) throw ring([id]);
  const found = topic.decisions.get(successor);
  if (found?.status !== 'approved' && found?.status !== 'superseded')
    throw unknownTarget(successor);
  return superseded(id, successor, isoMs(validityOf(found).startMs));
}

function confirms(
  approved: Decision & { startMs: number; endMs: number },
  head: Decision,
): boolean {
  return (
    approved.meaning === head.meaning &&
    compareScopes(approved.scope, head.scope) === 'equal' &&
    overlap(approved, validityOf(head))
  );
}

/** Two heads that cannot both hold: different meaning, common time, and scopes of which neither is an exception to the other. */
function disagrees(
  approved: Decision & { startMs: number; endMs: number },
  head: Decision,
): boolean {
  const scopes = compareScopes(approved.scope, head.scope);
  return (
    (scopes === 'equal' || scopes === 'crossing') &&
    approved.meaning !== head.meaning &&
    overlap(approved, validityOf(head))
  );
}

function stillDisagree(topic: Topic, a: string, b: string): boolean {
  const [first, second] = [topic.decisions.get(a), topic.decisions.get(b)];
  return first?.status === 'approved' && second !== undefined && disagrees(first, second);
}

function opened(topic: Topic, approved: Decision, rivals: readonly Decision[]): TopicEvent {
  const same = rivals.every((d) => compareScopes(approved.scope, d.scope) === 'equal');
  const claims = [...rivals.map((d) => d.id), approved.id];
  const undated = [...rivals, approved].filter((d) => d.effectiveFrom === undefined);
  return {
    type: 'ConflictOpened',
    data: {
      conflict_id: `${approved.id}.c${topic.conflicts + 1}`,
      kind: same ? 'same_scope' : 'overlapping_scopes',
      claims,
      would_be_resolved_by: [
        ...undated.map((d) => `a dated source that says from when ${d.id} applies`),
        same
          ? `an approval that names which of ${claims.join(', ')} supersedes the others`
          : 'a source that states which scope prevails where they overlap',
      ],
    },
  };
}

/** Open conflicts that end because claims of theirs ended and at most one is left. */
function settle(
  topic: Topic,
  ended: readonly string[],
  winnerOf: (left: readonly string[]) => string | undefined,
  reason: string,
): TopicEvent[] {
  return [...topic.openConflicts].flatMap(([conflict_id, claims]) => {
    if (!claims.some((id) => ended.includes(id))) return [];
    const left = claims.filter((id) => topic.heads.has(id) && !ended.includes(id));
    if (left.some((a, i) => left.slice(i + 1).some((b) => stillDisagree(topic, a, b)))) return [];
    const winner = winnerOf(left);
    return [
      {
        type: 'ConflictResolved',
        data: { conflict_id, ...(winner === undefined ? {} : { winner }), reason },
      } as const,
    ];
  });
}

function stale(present: string): Refusal {
  return new Refusal('conflict', 'stale_revision', 'the candidate is not what was inspected', {
    path: 'content_hash',
    issues: [{ path: 'content_hash', problem: `the candidate has the hash ${present}` }],
    fix: 'inspect the candidate again and approve with its present content_hash',
  });
}
