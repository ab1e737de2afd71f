import type { Projection } from '#projections/projection.js';
import { claims } from './projections/claims.js';
import { ingestions } from './projections/ingestions.js';
import { ontology } from './projections/ontology.js';
import { reviewQueue, type AwaitingReview } from './projections/review-queue.js';
import { search } from './projections/search.js';
import { timeline } from './projections/timeline.js';
import { topics } from './projections/topics.js';

export { awaitReview, endReview } from './projections/review-queue.js';

/** The read models of this context, in no particular order. `others`: what further contexts put into the queue of reviews. */
export function decisionProjections(others: readonly AwaitingReview[] = []): Projection[] {
  return [claims, ingestions, ontology, reviewQueue(others), search, timeline, topics];
}
