import { claims } from './projections/claims.js';
import { ingestions } from './projections/ingestions.js';
import { ontology } from './projections/ontology.js';
import { reviewQueue } from './projections/review-queue.js';
import { search } from './projections/search.js';
import { timeline } from './projections/timeline.js';
import { topics } from './projections/topics.js';

/** The read models of this context, in no particular order. */
export const decisionProjections = [
  claims,
  ingestions,
  ontology,
  reviewQueue,
  search,
  timeline,
  topics,
];
