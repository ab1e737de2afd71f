import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { workspaceView } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { whenMs } from '#kernel/time.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { Answer, History } from './contract.js';
import type { Ingestion } from './contract-ingestion.js';
import type { Pending, ReviewReceipt } from './contract-review.js';
import type { WorkspaceContext } from './contract-workspace.js';
import { storedAnswer } from './domain/answer.js';
import { topicOf } from './domain/claim.js';
import { isUnassigned } from './domain/ingestion-plan.js';
import {
  GetDecisionHistory,
  GetIngestion,
  GetWorkspaceContext,
  ListPending,
  ResolveDecisionState,
  ReviewDecision,
} from './messages.js';
import { answer } from './projections/answering.js';
import { history } from './projections/history.js';
import { ingestionView } from './projections/ingestions.js';
import { pending } from './projections/review-queue.js';
import { workspaceContext } from './projections/workspace-context.js';
import { assignTopic, mayReview, reviewCommand } from './review.js';
import { answerStream, answerStreams, topicStream, topicStreams } from './streams.js';

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
      { type: 'Give', requestId, question, answer: JSON.parse(canonicalJson(await fresh())) },
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

@CommandHandler(ReviewDecision)
export class ReviewDecisionHandler implements ICommandHandler<ReviewDecision> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller, input }: ReviewDecision): Promise<ReviewReceipt> {
    const topic = topicOf(input.decision_id) ?? '~';
    const stream = topicStream(caller.workspace, topic);
    const { state } = await this.streams.load(topicStreams, stream);
    mayReview(caller, input, state.decisions.get(input.decision_id));
    const { zone } = this.models.now((reads) => workspaceView(reads, caller.workspace));
    const timing = { nowMs: this.clock(), toMs: (when: string) => whenMs(when, zone) };
    const origin = originOf(caller, randomUUID());
    if (isUnassigned(topic) && input.action === 'approve')
      return assignTopic(this.streams, this.models, origin, input, timing);
    const done = await this.streams.execute(
      topicStreams,
      stream,
      reviewCommand(input, timing),
      origin,
    );
    return {
      decision_id: input.decision_id,
      state: done.state.decisions.get(input.decision_id)?.status ?? '',
      topic,
      position: String(done.position),
      conflicts_opened: done.events.flatMap((e) =>
        e.type === 'ConflictOpened' ? [e.data.conflict_id] : [],
      ),
    };
  }
}
