import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { workspaceView } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { Answer, History, ReadAxes, ResolveInput } from './contract.js';
import type { Ingestion } from './contract-ingestion.js';
import type { Pending } from './contract-review.js';
import type { WorkspaceContext } from './contract-workspace.js';
import { callId, storedAnswer } from './domain/answer.js';
import {
  AnswerUnrecorded,
  GetDecisionHistory,
  GetIngestion,
  GetWorkspaceContext,
  ListPending,
  ResolveDecisionState,
  type Unrecorded,
} from './messages.js';
import { answer, axesOf } from './projections/answering.js';
import { history, UNRECOGNISED } from './projections/history.js';
import { ingestionView } from './projections/ingestions.js';
import { pending } from './projections/review-queue.js';
import type { Found } from './projections/search-engine.js';
import { SUGGESTED } from './projections/suggestions.js';
import { workspaceContext } from './projections/workspace-context.js';
import { Search } from './projections/search-client.js';
import { answerStream, answerStreams } from './streams.js';

const position = (at: string | undefined): number => Number(at ?? 0);

/** How long a question waits for what is recorded and not yet indexed; after a start that is everything. */
const SEARCH_PATIENCE_MS = 2_000;

function near(search: Search, workspace: string, question: string, axes: ReadAxes): Promise<Found> {
  // Of what is found some may not have been known then.
  const times = axes.known_at === undefined ? 1 : 4;
  const most = { topics: SUGGESTED.topics * times, sources: SUGGESTED.sources * times };
  return search.near({ workspace, question, most, patienceMs: SEARCH_PATIENCE_MS });
}

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
    private readonly search: Search,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller, input }: ResolveDecisionState): Promise<Answer> {
    const capture = this.models.now(
      (reads) => workspaceView(reads, caller.workspace).settings.answerCapture,
    );
    const { request_id: requestId, at_least: _at_least, ...asked } = input;
    if (requestId === undefined && !capture) return this.fresh(caller.workspace, input);
    const question = sha256(canonicalJson(asked));
    const key = sha256(requestId ?? randomUUID()).slice(0, 32);
    const stream = answerStream(caller.workspace, key);
    if (requestId !== undefined) {
      const { state } = await this.streams.load(answerStreams, stream);
      const kept = storedAnswer(state, question);
      if (kept !== undefined) return kept as Answer;
    }
    const fresh = await this.fresh(caller.workspace, input);
    const answer = capture ? { ...fresh, call_id: callId(key) } : fresh;
    const done = await this.streams.execute(
      answerStreams,
      stream,
      {
        type: 'Give',
        requestId,
        question,
        answer: JSON.parse(canonicalJson(answer)) as unknown,
      },
      originOf(caller, derivedId('answer', caller.workspace, key)),
    );
    return storedAnswer(done.state, question) as Answer;
  }

  /** Searches only where the question names nothing, and then answers anew, from one moment. */
  private async fresh(workspace: string, input: ResolveInput): Promise<Answer> {
    const nowMs = this.clock();
    const read = (found?: Found): Promise<Answer> =>
      this.models.read(
        (reads, at) => answer(reads, workspace, input, nowMs, at, found),
        position(input.at_least),
      );
    const first = await read();
    if (first.topic || first.candidate_topics.length > 0) return first;
    return read(
      await near(this.search, workspace, `${input.topic ?? ''} ${input.question}`, input),
    );
  }
}

@QueryHandler(AnswerUnrecorded)
export class AnswerUnrecordedHandler implements IQueryHandler<AnswerUnrecorded> {
  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  execute({ caller: { workspace }, questions }: AnswerUnrecorded): Promise<Unrecorded> {
    const nowMs = this.clock();
    return this.models.read((reads, at) => ({
      answers: questions.map((asked) => answer(reads, workspace, asked, nowMs, at)),
      ontology_version: axesOf(reads, workspace, {}, nowMs).ontology.version,
      position: String(at),
    }));
  }
}

@QueryHandler(GetDecisionHistory)
export class GetDecisionHistoryHandler implements IQueryHandler<GetDecisionHistory> {
  constructor(
    private readonly models: ReadModels,
    private readonly search: Search,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller: { workspace }, input }: GetDecisionHistory): Promise<History> {
    const nowMs = this.clock();
    const read = (found?: Found): Promise<History> =>
      this.models.read(
        (reads, at) => history(reads, workspace, input, nowMs, at, found),
        position(input.at_least),
      );
    const first = await read();
    if (first.empty_reason !== UNRECOGNISED) return first;
    return read(await near(this.search, workspace, input.topic, input));
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
      const view = ingestionView(reads, caller.workspace, input);
      if (view) return { ...view, position: String(at) };
      throw new Refusal('not_found', 'unknown_job', `no ingestion job ${input.job_id}`, {
        path: 'job_id',
        issues: [{ path: 'job_id', problem: 'is no ingestion job of this workspace' }],
        fix: 'take the job_id that ingest returned',
      });
    }, position(input.at_least));
  }
}
