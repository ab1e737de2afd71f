import type { Projection } from '#projections/projection.js';
import { claims } from './projections/claims.js';
import { decided } from './projections/decided.js';
import { documents } from './projections/documents.js';
import { ingestions } from './projections/ingestions.js';
import { ontology } from './projections/ontology.js';
import { reviewQueue, type AwaitingReview } from './projections/review-queue.js';
import { search } from './projections/search.js';
import { timeline } from './projections/timeline.js';
import { topics } from './projections/topics.js';

export { contradictions, type Contradiction } from './projections/contradictions.js';
export { awaitReview, endReview } from './projections/review-queue.js';

// What an auditor asks of read models without a server.
export { answer, axesOf, oneTopic } from './projections/answering.js';
export {
  ontologyChanges,
  topicChanges,
  type Between,
  type OntologyChange,
  type TopicChange,
} from './projections/changes.js';
export { history } from './projections/history.js';
export {
  askedAgain,
  keptAnswer,
  type AskedAgain,
  type KeptAnswer,
} from './projections/kept-answers.js';
export { knownPosition, wholeAppends } from './projections/knowledge.js';
export { seen, type Known } from './domain/claim-view.js';
export { approvalsOf, standing, type Approval, type Standing } from './projections/standing.js';
export { topicsNamed } from './projections/topics.js';

/** The read models of this context, in no particular order. `others`: what further contexts put into the queue of reviews. */
export function decisionProjections(others: readonly AwaitingReview[] = []): Projection[] {
  return [
    claims,
    decided,
    documents,
    ingestions,
    ontology,
    reviewQueue(others),
    search,
    timeline,
    topics,
  ];
}
