import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { workspaceView } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import type { Reads } from '#projections/read-database.js';
import { CLOCK, RECEIPTS } from '#projections/tokens.js';
import type { Receipts } from '#transparency/receipts-port.js';
import type { Answer, History, ReadAxes, ResolveInput } from './contract.js';
import type { Decisions } from './contract-decisions.js';
import type { Ingestion } from './contract-ingestion.js';
import type { Pending } from './contract-review.js';
import type { WorkspaceContext } from './contract-workspace.js';
import { callId, storedAnswer } from './domain/answer.js';
import { receiptOfAnswer } from './handlers-receipts.js';
import {
  AnswerUnrecorded,
  GetDecisionHistory,
  GetIngestion,
  GetWorkspaceContext,
  ListDecisions,
  ListPending,
  ResolveDecisionState,
  type Unrecorded,
} from './messages.js';
import { answer, axesOf } from './projections/answering.js';
import { attestedOf } from './projections/attesting.js';
import { decisionsMade } from './projections/decided.js';
import { history, UNRECOGNISED } from './projections/history.js';
import { ingestionView } from './projections/ingestions.js';
import { assertAskable } from './projections/ontology-queries.js';
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
    @Inject(RECEIPTS) private readonly receipts: Receipts,
  ) {}

  async execute({ caller, input }: ResolveDecisionState): Promise<Answer> {
    const { workspace } = caller;
    const { answerCapture } = this.models.now((reads) => workspaceView(reads, workspace)).settings;
    const { request_id: requestId, receipt = false } = input;
    if (requestId === undefined && !answerCapture && !receipt)
      return this.fresh(workspace, input, (given) => given);
    if (receipt) await this.receipts.assertSigning(workspace);
    const key = sha256(requestId ?? randomUUID()).slice(0, 32);
    const given = await this.kept(caller, input, key, answerCapture ? callId(key) : undefined);
    if (!receipt) return given;
    const { streams, receipts } = this;
    return { ...given, receipt: await receiptOfAnswer(streams, receipts, workspace, key) };
  }

  /** The answer that stands under this key; one is given and kept if there is none. */
  private async kept(
    caller: Caller,
    input: ResolveInput,
    key: string,
    call: string | undefined,
  ): Promise<Answer> {
    // A receipt may be asked for later: it is no part of the question.
    const { request_id: requestId, at_least: _at_least, receipt: _receipt, ...asked } = input;
    const question = sha256(canonicalJson(asked));
    const { workspace } = caller;
    const stream = answerStream(workspace, key);
    if (requestId !== undefined) {
      const { state } = await this.streams.load(answerStreams, stream);
      const kept = storedAnswer(state, question);
      if (kept !== undefined) return kept as Answer;
    }
    const { answer, attested, keys } = await this.fresh(
      workspace,
      input,
      (given, reads, nowMs, keys) => {
        const answer = call === undefined ? given : { ...given, call_id: call };
        return { answer, attested: attestedOf(reads, workspace, input, answer, nowMs), keys };
      },
    );
    const text = canonicalJson(answer);
    const done = await this.streams.execute(
      answerStreams,
      stream,
      {
        type: 'Give',
        requestId,
        question,
        asked: JSON.parse(canonicalJson(asked)) as unknown,
        answer: JSON.parse(text) as unknown,
        attested: { answer_sha256: sha256(text), ...attested },
        keys,
      },
      originOf(caller, derivedId('answer', workspace, key)),
    );
    return storedAnswer(done.state, question) as Answer;
  }

  /**
   * Searches only where the question names nothing, and then answers anew, from one moment; `use` sees the answer and what it rests on
   * at that moment, and which keys seal the texts that it was made of.
   */
  private async fresh<T>(
    workspace: string,
    input: ResolveInput,
    use: (given: Answer, reads: Reads, nowMs: number, keys: string[]) => T,
  ): Promise<T> {
    const nowMs = this.clock();
    const read = (found?: Found): Promise<{ given: Answer; used: T }> =>
      this.models.read((reads, at) => {
        if (input.scope !== undefined)
          assertAskable(axesOf(reads, workspace, input, nowMs).ontology, input.scope);
        const { result: given, keys } = reads.collecting(() =>
          answer(reads, workspace, input, nowMs, at, found),
        );
        return { given, used: use(given, reads, nowMs, keys) };
      }, position(input.at_least));
    const { given, used } = await read();
    if (given.topic || given.candidate_topics.length > 0) return used;
    const found = await near(
      this.search,
      workspace,
      `${input.topic ?? ''} ${input.question}`,
      input,
    );
    return (await read(found)).used;
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
      answers: questions.map((asked) => {
        const given = (): Answer => answer(reads, workspace, asked, nowMs, at);
        const { result, keys } = reads.collecting(given);
        return { answer: result, keys };
      }),
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

@QueryHandler(ListDecisions)
export class ListDecisionsHandler implements IQueryHandler<ListDecisions> {
  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  execute({ caller: { workspace }, input }: ListDecisions): Promise<Decisions> {
    const nowMs = this.clock();
    return this.models.read(
      (reads, at) => decisionsMade(reads, workspace, input, nowMs, at),
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
