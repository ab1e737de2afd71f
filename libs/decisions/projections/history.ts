import { invalid } from '#kernel/refusal.js';
import type { Reads } from '#projections/read-database.js';
import type { History, HistoryInput } from '../contract.js';
import { covers } from '../domain/claim.js';
import { validity, type ClaimView } from '../domain/resolver.js';
import { axesOf, decisionView } from './answering.js';
import { claimsForQuestion } from './claim-queries.js';
import { timelinePage } from './timeline.js';
import { aliasesOf, topicsLike, topicsNamed } from './topics.js';

/** O-22, O-23: the timeline of a topic and its heads; an empty one says why. */
export function history(
  reads: Reads,
  workspace: string,
  input: HistoryInput,
  nowMs: number,
  position: number,
): History {
  const axes = axesOf(reads, workspace, input, nowMs);
  const named = topicsNamed(reads, workspace, input.topic, axes.known);
  const [topic, ...more] = named;
  if (!topic || more.length > 0) return unrecognised(reads, workspace, input, named, position);
  const claims = claimsForQuestion(reads, workspace, topic.topic, axes.asOfMs, axes.known);
  const holds = (claim: ClaimView): boolean => {
    const interval = validity(claim, axes.known);
    return (
      interval !== undefined && interval.startMs <= axes.asOfMs && axes.asOfMs < interval.endMs
    );
  };
  const { entries, next } = timelinePage(reads, workspace, topic.topic, {
    after: cursorOf(input.cursor),
    limit: input.limit ?? 50,
    known: axes.known,
    scope: input.scope,
  });
  return {
    topic: topic.topic,
    name: topic.name,
    aliases: aliasesOf(reads, workspace, topic.topic),
    heads: claims
      .filter((c) => holds(c) && (!input.scope || covers(c.scope, input.scope)))
      .map((c) => decisionView(c, axes.known)),
    timeline: entries,
    ...(entries.length > 0 ? {} : { empty_reason: whyEmpty(input) }),
    candidate_topics: [],
    position: String(position),
    ...(next === undefined ? {} : { next_cursor: String(next) }),
  };
}

function cursorOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw invalid('cursor', 'is none of ours', 'pass the next_cursor of the page before, unchanged');
}

function whyEmpty(input: HistoryInput): string {
  if (input.cursor !== undefined) return 'The timeline ends before this cursor.';
  if (input.scope) return 'No decision of this topic covers the scope asked.';
  return 'Nothing was recorded for this topic by the time asked.';
}

function unrecognised(
  reads: Reads,
  workspace: string,
  input: HistoryInput,
  named: { topic: string; name: string }[],
  position: number,
): History {
  const candidates = named.length > 0 ? named : topicsLike(reads, workspace, input.topic);
  return {
    topic: input.topic,
    name: input.topic,
    aliases: [],
    heads: [],
    timeline: [],
    empty_reason:
      named.length > 0
        ? 'Several topics bear this name; ask again with the id of one.'
        : 'No topic bears this name.',
    candidate_topics: candidates.map(({ topic, name }) => ({ topic, name })),
    position: String(position),
  };
}
