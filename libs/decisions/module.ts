import { Module } from '@nestjs/common';
import { DecisionsController } from './decisions.controller.js';
import * as handlers from './handlers.js';
import { FindConflictsHandler, ResolveConflictHandler } from './handlers-conflicts.js';
import { SubmitIngestionHandler } from './handlers-ingestion.js';
import { RateAnswerHandler } from './handlers-rating.js';
import {
  GetAnswerReceiptHandler,
  GetConflictReceiptHandler,
  GetDecisionReceiptHandler,
} from './handlers-receipts.js';
import * as ontologyHandlers from './handlers-ontology.js';
import { ReviewDecisionHandler } from './handlers-review.js';
import { OntologyController } from './ontology.controller.js';
import { Search } from './projections/search-client.js';
import editOntology from './tools/edit_ontology.js';
import findConflicts from './tools/find_conflicts.js';
import getDecisionHistory from './tools/get_decision_history.js';
import getIngestionStatus from './tools/get_ingestion_status.js';
import getOntology from './tools/get_ontology.js';
import getWorkspaceContext from './tools/get_workspace_context.js';
import ingest from './tools/ingest.js';
import listPendingDecisions from './tools/list_pending_decisions.js';
import rateAnswer from './tools/rate_answer.js';
import resolveConflict from './tools/resolve_conflict.js';
import resolveDecisionState from './tools/resolve_decision_state.js';
import reviewDecision from './tools/review_decision.js';
import startOntology from './tools/start_ontology.js';

@Module({
  controllers: [DecisionsController, OntologyController],
  providers: [
    ...Object.values(handlers),
    ...Object.values(ontologyHandlers),
    FindConflictsHandler,
    ResolveConflictHandler,
    RateAnswerHandler,
    GetAnswerReceiptHandler,
    GetConflictReceiptHandler,
    GetDecisionReceiptHandler,
    SubmitIngestionHandler,
    ReviewDecisionHandler,
    Search,
  ],
})
export class DecisionsModule {}

export const decisionTools = [
  getWorkspaceContext,
  resolveDecisionState,
  getDecisionHistory,
  findConflicts,
  ingest,
  getIngestionStatus,
  listPendingDecisions,
  reviewDecision,
  resolveConflict,
  startOntology,
  getOntology,
  rateAnswer,
  editOntology,
];

export type { Answer } from './contract.js';
export { AnswerUnrecorded } from './messages.js';
export { openAiExtractor } from './reactions/extractor-openai.js';
export { ingestionReaction } from './reactions/ingestion.js';
export { ontologyReaction } from './reactions/ontology.js';
