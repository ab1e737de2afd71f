import { Refusal, invalid } from '#kernel/refusal.js';
import { FOREVER, isoMs } from '#kernel/time.js';
import { compareScopes, overlap, within, type Validity } from './claim.js';
import { FLAT } from './hierarchy.js';
import { openedBy, settledBy } from './topic-conflict.js';
import {
  fourEyesRequired,
  ring,
  assertInspected,
  holdsUntil,
  unknownTarget,
  unreadable,
} from './topic-refusals.js';
import {
  endsAfter,
  holdingAfter,
  isApproved,
  saysNothing,
  type Approval,
  type Approved,
  type Decision,
  type Topic,
} from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

/** Approval and what it does to the decisions around it: supersession, confirmation, conflict (QO-10, QO-24). */
export function approve(command: Approval, topic: Topic, decision: Decision): TopicEvent[] {
  assertInspected(topic, decision, command.contentHash);
  if (command.fourEyes !== undefined && command.fourEyes === decision.proposedBy)
    throw fourEyesRequired('decision_id', decision.id);
  if (saysNothing(decision)) throw unreadable(decision.id);
  const written = validityFrom(command, decision);
  const stated = [...new Set(command.supersedes ?? decision.supersedes)].map((id) =>
    supersedable(topic, decision.id, id, written.ms.startMs, command),
  );
  refuseRing(topic, decision.id, stated, command.supersededBy);
  const place = placeOf(command, topic, { ...decision, ...written.ms }, stated);
  const events = place.confirms
    ? confirmation(command, decision, place.confirms, place.targets, written.ms)
    : approval(command, decision, written, place);
  const successor = place.confirms?.id ?? decision.id;
  events.push(
    ...settledBy(
      topic,
      events,
      {
        reason: `superseded by ${successor}`,
        winnerOf: (left) => (left.every((id) => id === successor) ? successor : undefined),
      },
      command,
    ),
  );
  return [...events, ...openedBy(topic, events, decision.id, command, decision)];
}

interface Written {
  ms: Validity;
  written: { effective_from?: string; effective_to?: string };
}

/** Where a decision comes to stand among those that hold at its time. */
interface Place {
  /** The head that says the same for all of its time: the decision adds its evidence to it and is no head of its own. */
  confirms?: Approved;
  /** What ends where it begins. */
  targets: Approved[];
  /** What ends it, earlier than is written. */
  until?: { by: string; atMs: number };
}

function placeOf(
  command: Approval,
  topic: Topic,
  decision: Decision & Validity,
  stated: readonly Approved[],
): Place {
  const { isWithin = FLAT, succession = 'stated', supersededBy } = command;
  const others = [...holdingAfter(topic, decision.startMs)]
    .map((id) => topic.decisions.get(id))
    .filter((d) => d !== undefined)
    .filter((d) => isApproved(d))
    .filter(
      (d) => !stated.includes(d) && compareScopes(d.scope, decision.scope, isWithin) === 'equal',
    );
  const span = { startMs: decision.startMs, endMs: decision.endMs };
  let until =
    supersededBy === undefined ? undefined : successorAt(topic, decision.id, supersededBy);
  const shorten = (by: Approved | undefined): void => {
    if (!by || by.startMs >= span.endMs) return;
    until = { by: by.id, atMs: by.startMs };
    span.endMs = by.startMs;
  };
  span.endMs = Math.min(span.endMs, until?.atMs ?? FOREVER);

  const rivals =
    succession === 'stated' ? [] : others.filter((d) => d.meaning !== decision.meaning);
  shorten(earliest(rivals.filter((d) => d.startMs > span.startMs)));
  const earlier = rivals.filter((d) => d.startMs < span.startMs && overlap(d, span));
  const targets = [...stated, ...earlier];
  // Inserted before a stated successor it is history of its own, whatever else says the same.
  const heads = others.filter((d) => d.status === 'approved' && d.meaning === decision.meaning);
  const same = supersededBy === undefined ? heads : [];

  shorten(earliest(same.filter((d) => span.startMs < d.startMs && span.endMs <= d.endMs)));
  const whole = same.find((d) => within(span, d));
  if (whole) return { confirms: whole, targets };
  // It says the same and reaches further: one head, not two, and nothing of its time is lost.
  const taken = same.filter((d) => overlap(span, d));
  return { targets: [...targets, ...taken], ...(until ? { until } : {}) };
}

function earliest(decisions: readonly Approved[]): Approved | undefined {
  return decisions.reduce<Approved | undefined>(
    (first, d) => (!first || d.startMs < first.startMs ? d : first),
    undefined,
  );
}

function approval(
  { reason }: Approval,
  decision: Decision,
  { ms, written }: Written,
  { targets, until }: Place,
): TopicEvent[] {
  const starts_at = isoMs(ms.startMs);
  return [
    {
      type: 'DecisionApproved',
      data: {
        decision_id: decision.id,
        content_hash: decision.contentHash,
        reason,
        ...written,
        starts_at,
        ...(ms.endMs === FOREVER ? {} : { ends_at: isoMs(ms.endMs) }),
        supersedes: targets.map((t) => t.id),
      },
    },
    ...targets.map((t) => superseded(t.id, decision.id, starts_at)),
    ...(until ? [superseded(decision.id, until.by, isoMs(until.atMs))] : []),
  ];
}

/** What the confirming decision states to replace is replaced by the head that it confirms. */
function confirmation(
  { reason }: Approval,
  decision: Decision,
  head: Approved,
  targets: readonly Approved[],
  { startMs }: Validity,
): TopicEvent[] {
  return [
    {
      type: 'DecisionConfirmed',
      data: { decision_id: head.id, by: decision.id, reason },
    },
    ...targets.map((t) => superseded(t.id, head.id, isoMs(startMs))),
  ];
}

function superseded(id: string, by: string, ends_at: string): TopicEvent {
  return { type: 'DecisionSuperseded', data: { decision_id: id, by, ends_at } };
}

function validityFrom(command: Approval, decision: Decision): Written {
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

/**
 * The decision to be replaced, if it may be: a head; an ended one that still holds when the new one begins, which it then ends sooner;
 * or one where the new one goes between it and its successor (B09).
 */
function supersedable(
  topic: Topic,
  newer: string,
  target: string,
  fromMs: number,
  { supersededBy, nowMs }: Approval,
): Approved {
  if (target === newer) throw ring([newer]);
  const found = topic.decisions.get(target);
  if (!found) throw unknownTarget(target);
  if (found.status === 'approved') return found;
  if (!isApproved(found))
    throw notSupersedable(found, 'only an approved decision can be superseded');
  if (found.status === 'superseded' && found.by === supersededBy) return found;
  if (endsAfter(topic, found, fromMs, nowMs)) return found;
  const until = holdsUntil(found, nowMs);
  if (found.status === 'revoked')
    throw notSupersedable(
      found,
      `leave supersedes empty: ${until}, and nothing of it is left when the new decision begins`,
      until,
    );
  const head = successorsOf(topic, found.id).at(-1) ?? found.id;
  throw new Refusal('conflict', 'head_moved', `${target} was superseded by ${found.by}; ${until}`, {
    path: 'supersedes',
    issues: [{ path: 'supersedes', problem: `the head is ${head} now` }],
    fix: `look at ${head}; supersede that one, or leave supersedes empty to have the conflict stated`,
  });
}

function notSupersedable({ id, status }: Decision, fix: string, until?: string): Refusal {
  const also = until === undefined ? '' : `; ${until}`;
  return new Refusal('conflict', 'not_approved', `${id} is ${status}${also}`, {
    path: 'supersedes',
    issues: [{ path: 'supersedes', problem: `${id} is ${status}, not approved${also}` }],
    fix,
  });
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

/** History that was recorded late: the new decision was already replaced by a known one, from that one's start on. */
function successorAt(topic: Topic, id: string, successor: string): { by: string; atMs: number } {
  if (successor === id) throw ring([id]);
  const found = topic.decisions.get(successor);
  if (found?.status !== 'approved' && found?.status !== 'superseded')
    throw unknownTarget(successor, 'superseded_by');
  return { by: successor, atMs: found.startMs };
}
