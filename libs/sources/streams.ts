import { subjectDecider } from './domain/subject.js';
import { subjectCodec } from './domain/subject.events.js';

/** One for each key: the holds on what it seals, and its erasure. */
export const subjectStreams = { decider: subjectDecider, codec: subjectCodec };
export const subjectStream = (workspace: string, key: string): string =>
  `subject-${workspace}-${key}`;
