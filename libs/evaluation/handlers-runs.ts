import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { AnswerUnrecorded, type Answer } from '#decisions/module.js';
import type { BlobStore } from '#event-store/event-store.js';
import { Sealing } from '#event-store/sealing.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { sha256 } from '#kernel/json.js';
import { ReadModels } from '#projections/read-models.js';
import { BLOBS } from '#projections/tokens.js';
import { sourceText } from '#sources/index.js';
import type { RunInput, RunReceipt } from './contract.js';
import { assertApproved, type PreparedDataset } from './domain/dataset.js';
import type { Measured } from './domain/evalrun.events.js';
import { measure, type Observation } from './domain/scoring.js';
import { assertMeasures } from './handlers-datasets.js';
import { RunEval } from './messages.js';
import { datasetStream, datasetStreams, evalrunStream, evalrunStreams } from './streams.js';

/** O-47: all cases are resolved and checked, then one event is appended. Until then nothing is stored, and a crash leaves nothing. */
@CommandHandler(RunEval)
export class RunEvalHandler implements ICommandHandler<RunEval> {
  constructor(
    private readonly streams: Streams,
    private readonly queries: QueryBus,
    private readonly models: ReadModels,
    private readonly sealing: Sealing,
    @Inject(BLOBS) private readonly blobs: BlobStore,
  ) {}

  async execute({ caller, input, progress }: RunEval): Promise<RunReceipt> {
    assertMeasures(caller, 'measure the resolver');
    const { id, hash, content } = await this.approved(caller, input);
    const total = content.cases.length;
    progress(0, total);
    const resolved = await this.queries.execute(new AnswerUnrecorded(caller, content.cases));
    const texts = new Texts(caller.workspace, this.models, this.blobs, this.sealing);
    const cases: Measured[] = [];
    for (const [i, { answer, keys }] of resolved.answers.entries()) {
      const expect = content.cases[i]?.expect;
      if (!expect) throw new Error('an answer has no case');
      cases.push({ ...measure(expect, await observation(answer, texts)), keys });
      progress(i + 1, total);
    }
    // It may have been retired meanwhile.
    await this.approved(caller, input);
    const run = {
      run_id: `run_${randomUUID().replaceAll('-', '')}`,
      dataset_id: id,
      dataset_hash: hash,
      ontology_version: resolved.ontology_version,
      memory_position: Number(resolved.position),
      cases,
    };
    const stream = evalrunStream(caller.workspace, run.run_id);
    const origin = originOf(caller, randomUUID());
    const done = await this.streams.execute(
      evalrunStreams,
      stream,
      { type: 'Complete', run },
      origin,
    );
    if (done.state.status === 'absent') throw new Error('a run is not there after it was stored');
    const { scorer_version, summary } = done.state.run;
    const { run_id, ontology_version } = run;
    return {
      run_id,
      dataset_id: id,
      dataset_hash: hash,
      scorer_version,
      ontology_version,
      memory_position: resolved.position,
      summary,
      position: String(done.position),
    };
  }

  private async approved(caller: Caller, input: RunInput): Promise<PreparedDataset> {
    const stream = datasetStream(caller.workspace, input.dataset_id);
    const { state } = await this.streams.load(datasetStreams, stream);
    return assertApproved(state, input.dataset_hash);
  }
}

/** The texts of captured sources, each read and hashed once a run; undefined where there is none that has its source's hash. */
class Texts {
  private readonly found = new Map<string, Promise<string | undefined>>();

  constructor(
    private readonly workspace: string,
    private readonly models: ReadModels,
    private readonly blobs: BlobStore,
    private readonly sealing: Sealing,
  ) {}

  of(source: string): Promise<string | undefined> {
    const known = this.found.get(source) ?? this.read(source);
    this.found.set(source, known);
    return known;
  }

  private async read(source: string): Promise<string | undefined> {
    const name = await this.models.read((reads) => sourceText(reads, this.workspace, source));
    const bytes = name && (await this.sealing.read(this.blobs, name));
    if (!bytes || bytes === 'erased' || sha256(bytes) !== name.sha256) return undefined;
    return Buffer.from(bytes).toString('utf8');
  }
}

async function observation(answer: Answer, texts: Texts): Promise<Observation> {
  const { state, reason, topic, decision, sources, evidence, as_of: asOf } = answer;
  const excerpts = await Promise.all(
    evidence.map(async ({ source_id: source, excerpt, start, end }) => ({
      source,
      stands: (await texts.of(source))?.slice(start, end) === excerpt,
    })),
  );
  return {
    state,
    reason,
    ...(topic === undefined ? {} : { topic: topic.topic }),
    ...(decision === undefined ? {} : { decision: decisionOf(decision) }),
    sources: sources.map(({ source_id: id, document }) => ({
      id,
      ...(document === undefined ? {} : { document }),
    })),
    excerpts,
    asOf,
  };
}

function decisionOf({ id, value, scope }: NonNullable<Answer['decision']>) {
  return { id, scope, ...(value === undefined ? {} : { value }) };
}
