import { Refusal } from '#kernel/refusal.js';
import { compareScopes, overlap } from './claim.js';
import { FLAT, type IsWithin } from './hierarchy.js';
import { fourEyesRequired } from './topic-refusals.js';
import {
  holdingAfter,
  isApproved,
  pairOf,
  pairsOf,
  withEvents,
  type Approved,
  type Decision,
  type Topic,
} from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

export type ConflictKind = Extract<TopicEvent, { type: 'ConflictOpened' }>['data']['kind'];

export type ConflictCommand =
  | ({
      type: 'ResolveConflict';
      conflictId: string;
      winner: string;
      reason: string;
      /** The principal who resolves, where the organisation wants four eyes. */
      fourEyes?: string | undefined;
    } & Comparing)
  | ({ type: 'DismissConflict'; conflictId: string; reason: string } & Comparing);

/** What a comparison of decisions depends on beside them. */
export interface Comparing {
  nowMs: number;
  isWithin?: IsWithin | undefined;
}

/**
 * Two approved decisions that cannot both hold: different meaning, common time, and scopes of which neither is an exception to the
 * other. One that was superseded or revoked counts for as long as it still holds; what lies behind it is history.
 */
function disagree(a: Approved, b: Approved, { nowMs, isWithin = FLAT }: Comparing): boolean {
  if (a.meaning === b.meaning || !overlap(a, b)) return false;
  const heads = a.status === 'approved' && b.status === 'approved';
  if (!heads && Math.min(a.endMs, b.endMs) <= nowMs) return false;
  const scopes = compareScopes(a.scope, b.scope, isWithin);
  return scopes === 'equal' || scopes === 'crossing';
}

/** The conflict that an approval opens with all that it contradicts; without any there is none. `fresh`: the decision, where the topic has it not yet. */
export function openedBy(
  topic: Topic,
  events: readonly TopicEvent[],
  id: string,
  comparing: Comparing,
  fresh?: Decision,
): TopicEvent[] {
  const find = withEvents(topic, events, fresh);
  const newer = find(id);
  if (!newer || !isApproved(newer)) return [];
  const rivals = [...holdingAfter(topic, newer.startMs)]
    .filter((other) => other !== id && !topic.compatible.has(pairOf(other, id)))
    .map(find)
    .filter((d) => d !== undefined)
    .filter((d) => isApproved(d) && disagree(newer, d, comparing));
  return rivals.length === 0 ? [] : [conflictBetween(topic, [...rivals, newer], comparing)];
}

/** Named after the last of the claims, which is the one that brought it about. */
function conflictBetween(
  topic: Topic,
  claims: readonly Decision[],
  { isWithin }: Comparing,
): TopicEvent {
  const newest = claims.at(-1);
  const crossing = claims.some(
    (d) => newest && compareScopes(newest.scope, d.scope, isWithin) !== 'equal',
  );
  const kind = crossing ? 'overlapping_scopes' : 'same_scope';
  return {
    type: 'ConflictOpened',
    data: {
      conflict_id: `${newest?.id ?? ''}.c${topic.openConflicts.size + topic.closedConflicts.size + 1}`,
      kind,
      claims: claims.map((d) => d.id),
      would_be_resolved_by: neededFor(
        kind,
        claims.map((d) => ({ id: d.id, dated: d.effectiveFrom !== undefined })),
      ),
    },
  };
}

/**
 * QO-14: what would settle a conflict, from its kind and from who may decide. `authority`: in words, such as "an admin or owner".
 * `more`: how many claims it has beside these.
 */
export function neededFor(
  kind: ConflictKind,
  claims: readonly { id: string; dated: boolean }[],
  authority?: string,
  more = 0,
): string[] {
  const ids = claims.map((c) => c.id).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const by = authority === undefined ? '' : ` by ${authority}`;
  return [
    ...claims
      .filter((c) => !c.dated)
      .map((c) => `a dated source that says from when ${c.id} applies`),
    kind === 'same_scope'
      ? `an approval${by} that names which of ${ids} supersedes the others`
      : `a source that states which scope prevails where those of ${ids} overlap, and an approval${by} that rests on it`,
  ];
}

/** Open conflicts that `events` leave without two claims that disagree. */
export function settledBy(
  topic: Topic,
  events: readonly TopicEvent[],
  how: { reason: string; winnerOf(left: readonly string[]): string | undefined },
  comparing: Comparing,
): TopicEvent[] {
  const find = withEvents(topic, events);
  return [...topic.openConflicts].flatMap(([conflict_id, claims]) => {
    if (!claims.some((id) => find(id) !== topic.decisions.get(id))) return [];
    if (pairsOf(claims).some((pair) => stands(topic, find, pair, comparing))) return [];
    const winner = how.winnerOf(claims.filter((id) => find(id)?.status === 'approved'));
    return [
      {
        type: 'ConflictResolved',
        data: { conflict_id, ...(winner === undefined ? {} : { winner }), reason: how.reason },
      } as const,
    ];
  });
}

type Find = (id: string) => Decision | undefined;

function stands(
  topic: Topic,
  find: Find,
  [first, second]: [string, string],
  comparing: Comparing,
): boolean {
  if (topic.compatible.has(pairOf(first, second))) return false;
  const [a, b] = [find(first), find(second)];
  return (
    a !== undefined &&
    b !== undefined &&
    isApproved(a) &&
    isApproved(b) &&
    disagree(a, b, comparing)
  );
}

export function decideConflict(command: ConflictCommand, topic: Topic): TopicEvent[] {
  const claims = openClaims(topic, command.conflictId);
  return command.type === 'ResolveConflict'
    ? resolveWith(command, topic, claims)
    : dismiss(command, topic, claims);
}

/**
 * QO-11: the winner supersedes every other claim from the moment on that the winner itself holds; a claim that began later than the
 * winner therefore never held, as is known from now on. Neither comes back where the winner ends.
 */
function resolveWith(
  command: Extract<ConflictCommand, { type: 'ResolveConflict' }>,
  topic: Topic,
  claims: readonly string[],
): TopicEvent[] {
  const { conflictId, winner: id, reason } = command;
  if (!claims.includes(id)) throw notAClaim(id, claims);
  const winner = topic.decisions.get(id);
  if (winner?.status !== 'approved') throw notApproved(id, winner?.status ?? 'absent');
  if (command.fourEyes !== undefined && command.fourEyes === winner.proposedBy)
    throw fourEyesRequired('winner_decision_id', id);
  const ends_at = new Date(winner.startMs).toISOString();
  const losses = claims
    .map((claim) => topic.decisions.get(claim))
    .filter((d) => d !== undefined)
    .filter((d) => d.id !== id && isApproved(d) && (d.status === 'approved' || overlap(d, winner)))
    .map((d): TopicEvent => ({
      type: 'DecisionSuperseded',
      data: { decision_id: d.id, by: id, ends_at, reason },
    }));
  const resolved: TopicEvent = {
    type: 'ConflictResolved',
    data: { conflict_id: conflictId, winner: id, reason },
  };
  const others = settledBy(
    topic,
    losses,
    {
      reason: `settled with ${conflictId}: ${reason}`,
      winnerOf: (left) => (left.length === 1 ? left[0] : undefined),
    },
    command,
  ).filter((e) => e.type !== 'ConflictResolved' || e.data.conflict_id !== conflictId);
  return [...losses, resolved, ...others, ...leftOver(topic, losses, claims, command)];
}

/** What the winner does not settle, because it holds at another time, is a conflict of its own. */
function leftOver(
  topic: Topic,
  losses: readonly TopicEvent[],
  claims: readonly string[],
  comparing: Comparing,
): TopicEvent[] {
  const find = withEvents(topic, losses);
  const standing = pairsOf(claims).filter((pair) => stands(topic, find, pair, comparing));
  const left = claims
    .filter((id) => standing.some((pair) => pair.includes(id)))
    .map(find)
    .filter((d) => d !== undefined);
  return left.length === 0 ? [] : [conflictBetween(topic, left, comparing)];
}

/** Conflicts whose remaining contradictions are among the same claims are dismissed with it. */
function dismiss(
  command: Extract<ConflictCommand, { type: 'DismissConflict' }>,
  topic: Topic,
  claims: readonly string[],
): TopicEvent[] {
  const { conflictId, reason } = command;
  const dismissed = new Set(pairsOf(claims).map((pair) => pairOf(...pair)));
  const find: Find = (id) => topic.decisions.get(id);
  const others = [...topic.openConflicts]
    .filter(([id]) => id !== conflictId)
    .filter(([, other]) =>
      pairsOf(other)
        .filter((pair) => stands(topic, find, pair, command))
        .every((pair) => dismissed.has(pairOf(...pair))),
    );
  return [
    { type: 'ConflictDismissed', data: { conflict_id: conflictId, reason } },
    ...others.map(([conflict_id]): TopicEvent => ({
      type: 'ConflictDismissed',
      data: { conflict_id, reason: `dismissed with ${conflictId}: ${reason}` },
    })),
  ];
}

function openClaims(topic: Topic, id: string): readonly string[] {
  const claims = topic.openConflicts.get(id);
  if (claims) return claims;
  const closed = topic.closedConflicts.get(id);
  if (closed === undefined)
    throw new Refusal('not_found', 'unknown_conflict', `no conflict ${id}`, {
      path: 'conflict_id',
      issues: [{ path: 'conflict_id', problem: 'is no conflict of this workspace' }],
      fix: 'take an id from find_conflicts',
    });
  throw new Refusal('conflict', 'already_decided', `${id} is ${closed} already`, {
    path: 'conflict_id',
    issues: [{ path: 'conflict_id', problem: `its status is ${closed}, not open` }],
    fix: 'find_conflicts with this status shows how it ended',
  });
}

function notAClaim(id: string, claims: readonly string[]): Refusal {
  return new Refusal('invalid', 'not_a_claim', `${id} is no claim of this conflict`, {
    path: 'winner_decision_id',
    issues: [{ path: 'winner_decision_id', problem: `must be one of ${claims.join(', ')}` }],
    fix: 'name one of the conflict’s claims; to have another decision prevail, approve it with supersedes naming all of them',
  });
}

function notApproved(id: string, status: string): Refusal {
  return new Refusal('conflict', 'winner_not_approved', `${id} is ${status}`, {
    path: 'winner_decision_id',
    issues: [{ path: 'winner_decision_id', problem: `its state is ${status}, not approved` }],
    fix: 'only an approved decision can prevail; name another claim, or dismiss the conflict',
  });
}
