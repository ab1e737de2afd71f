import { answerDecider } from './domain/answer.js';
import { answerCodec } from './domain/answer.events.js';
import { ingestionDecider } from './domain/ingestion.js';
import { ingestionCodec } from './domain/ingestion.events.js';
import { topicDecider } from './domain/topic.js';
import { topicCodec } from './domain/topic.events.js';

/** The streams of this context: how each is named and folded. */
export const topicStreams = { decider: topicDecider, codec: topicCodec };
export const ingestionStreams = { decider: ingestionDecider, codec: ingestionCodec };
export const answerStreams = { decider: answerDecider, codec: answerCodec, transient: true };

export const topicStream = (workspace: string, topic: string): string =>
  `topic-${workspace}-${topic}`;
export const ingestionStream = (workspace: string, job: string): string =>
  `ingestion-${workspace}-${job}`;
export const answerStream = (workspace: string, key: string): string =>
  `answer-${workspace}-${key}`;
