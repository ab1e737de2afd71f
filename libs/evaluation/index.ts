import { evaluation } from './projections/evaluation.js';

/** The read models of this context, in no particular order. */
export const evaluationProjections = [evaluation];

export { datasetsAwaitingReview } from './projections/awaiting-review.js';
