import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { originOf, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { Answer, History } from './contract.js';
import type { Ingestion } from './contract-ingestion.js';
import type { Pending } from './contract-review.js';
import type { WorkspaceContext } from './contract-workspace.js';
import { storedAnswer } from './domain/answer.js';
import {
  GetDecisionHistory,
  GetIngestion,
  GetWorkspaceContext,
  ListPending,
  ResolveDecisionState,
} from './messages.js';
import { answer } from './projections/answering.js';
import { history } from './projections/history.js';
import { ingestionView } from './projections/ingestions.js';
import { pending } from './projections/review-queue.js';
import { workspaceContext } from './projections/workspace-context.js';
import { answerStream, answerStreams } from './streams.js';

const position = (at: string | undefined): number => Number(at ?? 0);

@QueryHandler(GetWorkspaceContext)
export class GetWorkspaceContextHandler implements IQueryHandler<GetWorkspaceContext> {
  constructor(private readonly models: ReadModels) {}

  execute({ caller, input }: GetWorkspaceContext): Promise<WorkspaceContext> {
    return this.models.read(
      (reads, at) => workspaceContext(reads, caller, at),
      position(input.at_least),
    );
  }
}

@QueryHandler(ResolveDecisionState)
export class ResolveDecisionStateHandler implements IQueryHandler<ResolveDecisionState> {
  constructor(
    private readonly models: ReadModels,
    private readonly streams: Streams,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller, input }: ResolveDecisionState): Promise<Answer> {
    const fresh = () =>
      this.models.read(
        (reads, at) => answer(reads, caller.workspace, input, this.clock(), at),
        position(input.at_least),
      );
    if (input.request_id === undefined) return fresh();
    const { request_id: requestId, at_least: _at_least, ...asked } = input;
    const question = sha256(canonicalJson(asked));
    const stream = answerStream(caller.workspace, sha256(requestId).slice(0, 32));
    const kept = storedAnswer((await this.streams.load(answerStreams, stream)).state, question);
    if (kept !== undefined) return kept as Answer;
    const done = await this.streams.execute(
      answerStreams,
      stream,
      {
        type: 'Give',
        requestId,
        question,
        answer: JSON.parse(canonicalJson(await fresh())) as unknown,
      },
      originOf(caller, derivedId('answer', caller.workspace, requestId)),
    );
    return storedAnswer(done.state, question) as Answer;
  }
}

@QueryHandler(GetDecisionHistory)
export class GetDecisionHistoryHandler implements IQueryHandler<GetDecisionHistory> {
  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  execute({ caller, input }: GetDecisionHistory): Promise<History> {
    return this.models.read(
      (reads, at) => history(reads, caller.workspace, input, this.clock(), at),
      position(input.at_least),
    );
  }
}

@QueryHandler(ListPending)
export class ListPendingHandler implements IQueryHandler<ListPending> {
  constructor(private readonly models: ReadModels) {}

  execute({ caller, input }: ListPending): Promise<Pending> {
    return this.models.read(
      (reads, at) => pending(reads, caller.workspace, input, at),
      position(input.at_least),
    );
  }
}

@QueryHandler(GetIngestion)
export class GetIngestionHandler implements IQueryHandler<GetIngestion> {
  constructor(private readonly models: ReadModels) {}

  execute({ caller, input }: GetIngestion): Promise<Ingestion> {
    return this.models.read((reads, at) => {
      const view = ingestionView(reads, caller.workspace, input.job_id);
      if (view) return { ...view, position: String(at) };
      throw new Refusal('not_found', 'unknown_job', `no ingestion job ${input.job_id}`, {
        path: 'job_id',
        issues: [{ path: 'job_id', problem: 'is no ingestion job of this workspace' }],
        fix: 'take the job_id that ingest returned',
      });
    }, position(input.at_least));
  }
}
