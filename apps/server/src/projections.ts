import { directory } from '#access/index.js';
import { decisionProjections } from '#decisions/index.js';
import { datasetsAwaitingReview, evaluationProjections } from '#evaluation/index.js';
import { logTree } from '#ledger/index.js';
import { sources, subjects } from '#sources/index.js';

/** Every read model of the product. The projector thread loads this module, so it must not reach any framework. */
export const projections = [
  directory,
  sources,
  subjects,
  logTree,
  ...decisionProjections([datasetsAwaitingReview]),
  ...evaluationProjections,
];
