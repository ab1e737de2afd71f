import { Command, Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type { Answer, History, HistoryInput, ResolveInput } from './contract.js';
import type {
  Conflicts,
  ConflictsInput,
  RateInput,
  RateReceipt,
  ResolveConflictInput,
  ResolveConflictReceipt,
} from './contract-conflicts.js';
import type {
  IngestInput,
  IngestReceipt,
  Ingestion,
  IngestionInput,
} from './contract-ingestion.js';
import type { Decisions, DecisionsInput } from './contract-decisions.js';
import type { EditOntologyInput, OntologyInput, StartOntologyInput } from './contract-ontology.js';
import type { EditOntologyReceipt, Ontology, OntologyReceipt } from './contract-ontology-view.js';
import type { Pending, PendingInput, ReviewInput, ReviewReceipt } from './contract-review.js';
import type {
  AnswerReceiptInput,
  ConflictReceiptInput,
  DecisionReceiptInput,
  LogReceipt,
} from './contract-receipts.js';
import type { WorkspaceContext, WorkspaceContextInput } from './contract-workspace.js';

export class GetWorkspaceContext extends Query<WorkspaceContext> {
  constructor(
    readonly caller: Caller,
    readonly input: WorkspaceContextInput,
  ) {
    super();
  }
}

/** With a `request_id` the answer is kept, and given again for the same question; with capture on it can be rated too. */
export class ResolveDecisionState extends Query<Answer> {
  constructor(
    readonly caller: Caller,
    readonly input: ResolveInput,
  ) {
    super();
  }
}

/** The receipt of the approval, whatever became of the decision since. */
export class GetDecisionReceipt extends Query<LogReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: DecisionReceiptInput,
  ) {
    super();
  }
}

export class GetConflictReceipt extends Query<LogReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: ConflictReceiptInput,
  ) {
    super();
  }
}

export class GetAnswerReceipt extends Query<LogReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: AnswerReceiptInput,
  ) {
    super();
  }
}

/** What the memory says at one moment to several questions. */
export interface Unrecorded {
  /** In the order of the questions; each with the ids of the keys that seal the texts which it was made of. */
  answers: { answer: Answer; keys: string[] }[];
  ontology_version: number;
  position: string;
}

/** Answers that are kept nowhere, for whoever measures them. A question that names no topic is not searched for. No door sends it. */
export class AnswerUnrecorded extends Query<Unrecorded> {
  constructor(
    readonly caller: Caller,
    readonly questions: readonly Pick<
      ResolveInput,
      'question' | 'topic' | 'scope' | 'as_of' | 'known_at'
    >[],
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

export class ListDecisions extends Query<Decisions> {
  constructor(
    readonly caller: Caller,
    readonly input: DecisionsInput,
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

export class FindConflicts extends Query<Conflicts> {
  constructor(
    readonly caller: Caller,
    readonly input: ConflictsInput,
  ) {
    super();
  }
}

export class ResolveConflict extends Command<ResolveConflictReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: ResolveConflictInput,
  ) {
    super();
  }
}

export class RateAnswer extends Command<RateReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: RateInput,
  ) {
    super();
  }
}

/** Proposes; approval is always a command of its own. */
export class StartOntology extends Command<OntologyReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: StartOntologyInput,
  ) {
    super();
  }
}

export class EditOntology extends Command<EditOntologyReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: EditOntologyInput,
  ) {
    super();
  }
}

export class GetOntology extends Query<Ontology> {
  constructor(
    readonly caller: Caller,
    readonly input: OntologyInput,
  ) {
    super();
  }
}
