import type { Decision, Topic } from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

/** Names with each reason the keys of the decisions that it is about; what is about a decision that nothing seals stays as it is. */
export function withKeys(
  events: readonly TopicEvent[],
  topic: Topic,
  arriving?: ReadonlyMap<string, Decision>,
): TopicEvent[] {
  const fresh = new Map(
    events.flatMap((e) => (e.type === 'DecisionProposed' ? [[e.data.decision_id, e.data]] : [])),
  );
  const keysOf = (id: string): readonly string[] =>
    topic.decisions.get(id)?.keys ?? fresh.get(id)?.keys ?? arriving?.get(id)?.keys ?? [];
  const opened = new Map(
    events.flatMap((e) =>
      e.type === 'ConflictOpened' ? [[e.data.conflict_id, e.data.claims] as const] : [],
    ),
  );
  const claimsOf = (id: string): readonly string[] =>
    topic.openConflicts.get(id) ?? opened.get(id) ?? [];
  return events.map((event) => {
    const keys = [...new Set(aboutOf(event, claimsOf).flatMap(keysOf))];
    return keys.length === 0 ? event : ({ ...event, data: { ...event.data, keys } } as TopicEvent);
  });
}

/** Decisions that the reason of an event tells of. */
function aboutOf(
  event: TopicEvent,
  claimsOf: (conflict: string) => readonly string[],
): readonly string[] {
  switch (event.type) {
    case 'DecisionApproved':
    case 'DecisionRejected':
    case 'DecisionRetracted':
    case 'DecisionRevoked':
      return [event.data.decision_id];
    case 'DecisionConfirmed':
      return [event.data.decision_id, event.data.by];
    case 'DecisionSuperseded':
      return event.data.reason === undefined ? [] : [event.data.decision_id, event.data.by];
    case 'ConflictResolved':
    case 'ConflictDismissed':
      return claimsOf(event.data.conflict_id);
    case 'TopicOpened':
    case 'TopicAliased':
    case 'TopicMerged':
    case 'TopicAbsorbed':
    case 'DecisionProposed':
    case 'ConflictOpened':
      return [];
  }
}
