import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import { CallerOf, Input, Operation, PartOf } from '#http/operation.js';
import { Answer, History, HistoryInput, ResolveInput } from './contract.js';
import {
  Conflicts,
  ConflictsInput,
  RateInput,
  RateReceipt,
  ResolveConflictInput,
  ResolveConflictReceipt,
} from './contract-conflicts.js';
import { Decisions, DecisionsInput } from './contract-decisions.js';
import { IngestInput, IngestReceipt, Ingestion, IngestionInput } from './contract-ingestion.js';
import { Pending, PendingInput, ReviewInput, ReviewReceipt } from './contract-review.js';
import {
  AnswerReceiptInput,
  ConflictReceiptInput,
  DecisionReceiptInput,
  LogReceipt,
} from './contract-receipts.js';
import { WorkspaceContext, WorkspaceContextInput } from './contract-workspace.js';
import {
  FindConflicts,
  GetAnswerReceipt,
  GetConflictReceipt,
  GetDecisionReceipt,
  GetDecisionHistory,
  GetIngestion,
  GetWorkspaceContext,
  ListDecisions,
  ListPending,
  RateAnswer,
  ResolveConflict,
  ResolveDecisionState,
  ReviewDecision,
  SubmitIngestion,
} from './messages.js';

@Controller('v1')
@PartOf('decisions')
export class DecisionsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation(
    'GET',
    'workspace',
    'Workspace and ontology status',
    WorkspaceContextInput,
    WorkspaceContext,
  )
  context(@CallerOf() caller: Caller, @Input() input: WorkspaceContextInput) {
    return this.queries.execute(new GetWorkspaceContext(caller, input));
  }

  @Operation('POST', 'answers', 'What is decided?', ResolveInput, Answer)
  resolve(@CallerOf() caller: Caller, @Input() input: ResolveInput) {
    return this.queries.execute(new ResolveDecisionState(caller, input));
  }

  @Operation('GET', 'topics/:topic/history', 'Timeline of a topic', HistoryInput, History)
  history(@CallerOf() caller: Caller, @Input() input: HistoryInput) {
    return this.queries.execute(new GetDecisionHistory(caller, input));
  }

  @Operation('GET', 'decisions', 'Decisions made in a time', DecisionsInput, Decisions)
  decisions(@CallerOf() caller: Caller, @Input() input: DecisionsInput) {
    return this.queries.execute(new ListDecisions(caller, input));
  }

  @Operation('POST', 'ingestions', 'Ingest sources and records', IngestInput, IngestReceipt, 202)
  ingest(@CallerOf() caller: Caller, @Input() input: IngestInput) {
    return this.commands.execute(new SubmitIngestion(caller, input));
  }

  @Operation('GET', 'ingestions/:job_id', 'Result of an ingestion', IngestionInput, Ingestion)
  ingestion(@CallerOf() caller: Caller, @Input() input: IngestionInput) {
    return this.queries.execute(new GetIngestion(caller, input));
  }

  @Operation('GET', 'pending', 'Candidates and conflicts awaiting review', PendingInput, Pending)
  pending(@CallerOf() caller: Caller, @Input() input: PendingInput) {
    return this.queries.execute(new ListPending(caller, input));
  }

  @Operation(
    'POST',
    'decisions/:decision_id/reviews',
    'Approve, reject, revoke or retract',
    ReviewInput,
    ReviewReceipt,
  )
  review(@CallerOf() caller: Caller, @Input() input: ReviewInput) {
    return this.commands.execute(new ReviewDecision(caller, input));
  }

  @Operation('GET', 'conflicts', 'Decisions that cannot both hold', ConflictsInput, Conflicts)
  conflicts(@CallerOf() caller: Caller, @Input() input: ConflictsInput) {
    return this.queries.execute(new FindConflicts(caller, input));
  }

  @Operation(
    'POST',
    'conflicts/:conflict_id/resolutions',
    'Resolve or dismiss a conflict',
    ResolveConflictInput,
    ResolveConflictReceipt,
  )
  resolveConflict(@CallerOf() caller: Caller, @Input() input: ResolveConflictInput) {
    return this.commands.execute(new ResolveConflict(caller, input));
  }

  @Operation('POST', 'answers/:call_id/ratings', 'Rate a captured answer', RateInput, RateReceipt)
  rate(@CallerOf() caller: Caller, @Input() input: RateInput) {
    return this.commands.execute(new RateAnswer(caller, input));
  }

  @Operation(
    'GET',
    'answers/:call_id/receipt',
    'Receipt of a captured answer',
    AnswerReceiptInput,
    LogReceipt,
  )
  answerReceipt(@CallerOf() caller: Caller, @Input() input: AnswerReceiptInput) {
    return this.queries.execute(new GetAnswerReceipt(caller, input));
  }

  @Operation(
    'GET',
    'decisions/:decision_id/receipt',
    'Receipt of an approval',
    DecisionReceiptInput,
    LogReceipt,
  )
  approvalReceipt(@CallerOf() caller: Caller, @Input() input: DecisionReceiptInput) {
    return this.queries.execute(new GetDecisionReceipt(caller, input));
  }

  @Operation(
    'GET',
    'conflicts/:conflict_id/receipt',
    'Receipt of the end of a conflict',
    ConflictReceiptInput,
    LogReceipt,
  )
  conflictReceipt(@CallerOf() caller: Caller, @Input() input: ConflictReceiptInput) {
    return this.queries.execute(new GetConflictReceipt(caller, input));
  }
}
