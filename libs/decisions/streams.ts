import type { Streams } from '#event-store/streams.js';
import { Refusal } from '#kernel/refusal.js';
import { answerDecider } from './domain/answer.js';
import { answerCodec } from './domain/answer.events.js';
import { ingestionDecider } from './domain/ingestion.js';
import { ingestionCodec } from './domain/ingestion.events.js';
import { ontologyDecider } from './domain/ontology.js';
import { ontologyCodec } from './domain/ontology.events.js';
import { topicDecider } from './domain/topic.js';
import { topicCodec } from './domain/topic.events.js';

/** The streams of this context: how each is named and folded. */
export const topicStreams = { decider: topicDecider, codec: topicCodec };
export const ingestionStreams = { decider: ingestionDecider, codec: ingestionCodec };
export const ontologyStreams = { decider: ontologyDecider, codec: ontologyCodec };
export const answerStreams = { decider: answerDecider, codec: answerCodec, transient: true };

export const topicStream = (workspace: string, topic: string): string =>
  `topic-${workspace}-${topic}`;
export const ingestionStream = (workspace: string, job: string): string =>
  `ingestion-${workspace}-${job}`;
export const ontologyStream = (workspace: string): string => `ontology-${workspace}`;
export const answerStream = (workspace: string, key: string): string =>
  `answer-${workspace}-${key}`;

/** The topic whose stream decides now about what began in `topic`: itself, or the one that it was merged into. */
export async function homeTopic(
  streams: Streams,
  workspace: string,
  topic: string,
): Promise<string> {
  const { state } = await streams.load(topicStreams, topicStream(workspace, topic));
  if (state.status !== 'merged') return topic;
  const into = state.mergedInto;
  const target = await streams.load(topicStreams, topicStream(workspace, into));
  if (target.state.absorbed.has(topic)) return homeTopic(streams, workspace, into);
  throw new Refusal('unavailable', 'merge_in_progress', `${topic} is being merged into ${into}`, {
    path: 'topic',
    issues: [{ path: 'topic', problem: `its decisions are on their way to ${into}` }],
    fix: 'try again in a moment',
  });
}
