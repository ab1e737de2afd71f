import { claims } from './projections/claims.js';
import { ingestions } from './projections/ingestions.js';
import { reviewQueue } from './projections/review-queue.js';
import { timeline } from './projections/timeline.js';
import { topics } from './projections/topics.js';

/** The read models of this context, in no particular order. */
export const decisionProjections = [claims, ingestions, reviewQueue, timeline, topics];
