import { wrongCursor } from '#kernel/refusal.js';
import type { Reads } from '#projections/read-database.js';
import type { CandidateTopic, History, HistoryInput } from '../contract.js';
import { covers } from '../domain/claim.js';
import { validity, type ClaimView } from '../domain/claim-view.js';
import { declaredNear } from '../domain/declared-near.js';
import { axesOf, type Axes } from './answering.js';
import { topicAsOf } from './claim-queries.js';
import { assertAskable } from './ontology-queries.js';
import { isDecidedIn, windowOf, windowView } from './decided.js';
import type { Found } from './search-engine.js';
import { namesakes, NOTHING_FOUND, suggestions } from './suggestions.js';
import { timelinePage } from './timeline.js';
import { aliasesOf, topicsNamed, type TopicName } from './topics.js';
import { showing } from './relations.js';

/** Why the timeline is empty where the name stands for nothing. */
export const UNRECOGNISED = 'No topic bears this name.';

/** O-22, O-23: the timeline of a topic and its heads; an empty one says why. */
export function history(
  reads: Reads,
  workspace: string,
  input: HistoryInput,
  nowMs: number,
  position: number,
  found: Found = NOTHING_FOUND,
): History {
  const axes = axesOf(reads, workspace, input, nowMs);
  assertAskable(axes.ontology, input.scope);
  const asked = input.decided_since ?? input.decided_until;
  const window = asked === undefined ? undefined : windowOf(input, axes, nowMs);
  const named = topicsNamed(reads, workspace, input.topic, axes.known);
  const [topic, ...more] = named;
  if (!topic || more.length > 0)
    return unrecognised(
      input,
      named,
      position,
      near(reads, workspace, input.topic, named, found, axes),
    );
  const { claims } = topicAsOf(reads, workspace, topic.topic, axes.asOfMs, axes.known);
  const holds = (claim: ClaimView): boolean => {
    const interval = validity(claim, axes.known);
    return (
      interval !== undefined && interval.startMs <= axes.asOfMs && axes.asOfMs < interval.endMs
    );
  };
  const { entries, read, next } = timelinePage(reads, workspace, topic.topic, {
    after: cursorOf(input.cursor),
    limit: input.limit ?? 50,
    known: axes.known,
    scope: input.scope,
    isWithin: axes.ontology.isWithin,
    ...(window ? { only: (claim) => isDecidedIn(claim, window, axes) } : {}),
  });
  return {
    topic: topic.topic,
    name: topic.name,
    aliases: aliasesOf(reads, workspace, topic.topic, axes.known),
    heads: claims
      .filter(
        (c) => holds(c) && (!input.scope || covers(c.scope, input.scope, axes.ontology.isWithin)),
      )
      .map(showing(reads, workspace, axes)),
    timeline: entries,
    ...(window ? { decided: windowView(window) } : {}),
    ...(entries.length > 0 ? {} : { empty_reason: whyEmpty(input, read, next !== undefined) }),
    candidate_topics: [],
    position: String(position),
    ...(next === undefined ? {} : { next_cursor: String(next) }),
  };
}

function cursorOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw wrongCursor();
}

/** Why a page shows nothing of the entries that were `read` for it. */
function whyEmpty(input: HistoryInput, read: number, more: boolean): string {
  if (read === 0)
    return input.cursor === undefined
      ? 'Nothing was recorded for this topic by the time asked.'
      : 'The timeline ends before this cursor.';
  const part =
    more || input.cursor !== undefined ? 'Nothing in this part of the timeline' : 'Nothing';
  const why =
    input.decided_since === undefined && input.decided_until === undefined
      ? 'is of a decision that covers the scope asked'
      : 'is of a decision that was made in the window asked for';
  return `${part} ${why}${more ? '; next_cursor leads on' : ''}.`;
}

function near(
  reads: Reads,
  workspace: string,
  asked: string,
  named: readonly TopicName[],
  found: Found,
  axes: Axes,
): CandidateTopic[] {
  const { candidate_topics } =
    named.length > 0
      ? namesakes(reads, workspace, named, axes)
      : suggestions(
          reads,
          workspace,
          found,
          axes,
          declaredNear(axes.ontology.content.topics, asked),
        );
  return candidate_topics;
}

function unrecognised(
  input: HistoryInput,
  named: readonly TopicName[],
  position: number,
  candidate_topics: CandidateTopic[],
): History {
  return {
    topic: input.topic,
    name: input.topic,
    aliases: [],
    heads: [],
    timeline: [],
    empty_reason:
      named.length > 0
        ? 'Several topics bear this name; ask again with the id of one.'
        : UNRECOGNISED,
    candidate_topics,
    position: String(position),
  };
}
