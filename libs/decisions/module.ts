import { Module } from '@nestjs/common';
import { DecisionsController } from './decisions.controller.js';
import * as handlers from './handlers.js';
import { SubmitIngestionHandler } from './handlers-ingestion.js';
import { ReviewDecisionHandler } from './handlers-review.js';
import getDecisionHistory from './tools/get_decision_history.js';
import getIngestionStatus from './tools/get_ingestion_status.js';
import getWorkspaceContext from './tools/get_workspace_context.js';
import ingest from './tools/ingest.js';
import listPendingDecisions from './tools/list_pending_decisions.js';
import resolveDecisionState from './tools/resolve_decision_state.js';
import reviewDecision from './tools/review_decision.js';

@Module({
  controllers: [DecisionsController],
  providers: [...Object.values(handlers), SubmitIngestionHandler, ReviewDecisionHandler],
})
export class DecisionsModule {}

export const decisionTools = [
  getWorkspaceContext,
  resolveDecisionState,
  getDecisionHistory,
  ingest,
  getIngestionStatus,
  listPendingDecisions,
  reviewDecision,
];

export { ingestionReaction } from './reactions/ingestion.js';
