import { directory } from '#access/index.js';
import { decisionProjections } from '#decisions/index.js';
import { datasetsAwaitingReview, evaluationProjections } from '#evaluation/index.js';
import { sources } from '#sources/index.js';

/** Every read model of the product. The projector thread loads this module, so it must not reach any framework. */
export const projections = [
  directory,
  sources,
  ...decisionProjections([datasetsAwaitingReview]),
  ...evaluationProjections,
];
