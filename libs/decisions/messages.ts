import { Command, Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type { Answer, History, HistoryInput, ResolveInput } from './contract.js';
import type {
  IngestInput,
  IngestReceipt,
  Ingestion,
  IngestionInput,
} from './contract-ingestion.js';
import type { Pending, PendingInput, ReviewInput, ReviewReceipt } from './contract-review.js';
import type { WorkspaceContext, WorkspaceContextInput } from './contract-workspace.js';

export class GetWorkspaceContext extends Query<WorkspaceContext> {
  constructor(
    readonly caller: Caller,
    readonly input: WorkspaceContextInput,
  ) {
    super();
  }
}

/** With a `request_id` the answer is kept, and given again for the same question. */
export class ResolveDecisionState extends Query<Answer> {
  constructor(
    readonly caller: Caller,
    readonly input: ResolveInput,
  ) {
    super();
  }
}

export class GetDecisionHistory extends Query<History> {
  constructor(
    readonly caller: Caller,
    readonly input: HistoryInput,
  ) {
    super();
  }
}

export class ListPending extends Query<Pending> {
  constructor(
    readonly caller: Caller,
    readonly input: PendingInput,
  ) {
    super();
  }
}

export class SubmitIngestion extends Command<IngestReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: IngestInput,
  ) {
    super();
  }
}

export class GetIngestion extends Query<Ingestion> {
  constructor(
    readonly caller: Caller,
    readonly input: IngestionInput,
  ) {
    super();
  }
}

export class ReviewDecision extends Command<ReviewReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: ReviewInput,
  ) {
    super();
  }
}
