import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { workspaceView } from '#access/index.js';
import type { BlobStore } from '#event-store/event-store.js';
import { originOf, Streams } from '#event-store/streams.js';
import { isGovernor, type Caller } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { BLOBS } from '#projections/tokens.js';
import type { IngestInput, IngestReceipt } from './contract-ingestion.js';
import { topicId, topicOf } from './domain/claim.js';
import { planIngestion } from './domain/document-plan.js';
import { ringAmongRecords, type Manifest, type Plan } from './domain/ingestion-plan.js';
import {
  claimsIn,
  dryRun,
  jobOf,
  manifestRecord,
  sourceOf,
  textsOf,
  topicNames,
  type Text,
} from './handlers-submission.js';
import { ring } from './domain/topic-state.js';
import { SubmitIngestion } from './messages.js';
import { topicsNamed } from './projections/topics.js';
import { ingestionStream, ingestionStreams, topicStream, topicStreams } from './streams.js';

@CommandHandler(SubmitIngestion)
export class SubmitIngestionHandler implements ICommandHandler<SubmitIngestion> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(BLOBS) private readonly blobs: BlobStore,
  ) {}

  /** Everything is checked before anything is stored; what is acknowledged will be worked through, whatever happens next. */
  async execute({ caller, input }: SubmitIngestion): Promise<IngestReceipt> {
    const texts = textsOf(input);
    const manifest = await this.manifestOf(caller, input, texts);
    await this.checkTargets(caller, manifest);
    const job = jobOf(caller, input);
    const governor = isGovernor(caller);
    const contents = texts.map((t) => t.text);
    if (input.dry_run) {
      const plan = planIngestion(manifest, contents, { governor, job });
      return dryRun(manifest, plan, await this.known(caller, plan));
    }

    const manifestBytes = Buffer.from(canonicalJson(manifest));
    const manifestHash = sha256(manifestBytes);
    const stream = ingestionStream(caller.workspace, job);
    const submission = {
      job_id: job,
      manifest_sha256: manifestHash,
      records_total: manifest.paths?.length ?? claimsIn(manifest),
      governor,
      zone: await this.models.read((reads) => workspaceView(reads, caller.workspace).zone),
      ...(input.request_id === undefined ? {} : { request_id: input.request_id }),
    };
    // A key bound to other content is refused before its texts are stored.
    const before = await this.streams.load(ingestionStreams, stream);
    ingestionStreams.decider.decide({ type: 'Submit', submission }, before.state);
    await this.blobs.putBlobs([
      ...texts.map(({ hash, bytes }) => ({ hash, bytes })),
      { hash: manifestHash, bytes: manifestBytes },
    ]);
    const done = await this.streams.execute(
      ingestionStreams,
      stream,
      { type: 'Submit', submission },
      originOf(caller, derivedId('ingest', caller.workspace, job)),
    );
    return {
      job_id: job,
      status: done.state.status === 'completed' ? 'completed' : 'running',
      source_ids: manifest.sources.map((s) => s.source_id),
      records_total: submission.records_total,
      position: String(done.position),
    };
  }

  /** Which of the planned claims are there already, and as what. */
  private async known(caller: Caller, plan: Plan): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const { topic, claim } of plan.topics.flat()) {
      const stream = topicStream(caller.workspace, topic.id);
      const { state } = await this.streams.load(topicStreams, stream);
      const held = state.decisions.get(claim.decision_id);
      if (held) found.set(held.id, held.status);
    }
    return found;
  }

  private async manifestOf(
    caller: Caller,
    input: IngestInput,
    texts: readonly Text[],
  ): Promise<Manifest> {
    const collection = input.collection ?? 'documents';
    if (input.documents)
      return {
        collection,
        paths: input.documents.map((d) => d.path),
        sources: input.documents.map((d, i) =>
          sourceOf(caller, texts[i], `${collection}/${d.path}`, {
            title: d.path,
            type: 'document',
          }),
        ),
        records: [],
      };
    const { text: _text, ...details } = input.source ?? { title: '', type: '', text: '' };
    const document = details.uri ?? `${details.type}/${details.title}`;
    const source = sourceOf(caller, texts[0], document, details);
    const records = input.records ?? [];
    const looked = await this.models.read((reads) =>
      records.map((record) =>
        topicNames(record).map((name) => {
          const found = topicsNamed(reads, caller.workspace, name);
          const [only] = found;
          if (found.length > 1)
            throw invalid(
              'topic',
              `several topics bear the name "${name}"`,
              `give one of the ids ${found.map((t) => t.topic).join(', ')}`,
            );
          return only ? { id: only.topic, name: only.name } : { id: topicId(name), name };
        }),
      ),
    );
    return {
      collection,
      sources: [source],
      records: records.map((record, i) =>
        manifestRecord(record, `records[${i}]`, looked[i] ?? [], source, texts[0]?.text ?? ''),
      ),
    };
  }

  /** A record may only replace decisions that exist in its topic and must close no ring (B08): decided on the present state, appended nowhere. */
  private async checkTargets(caller: Caller, manifest: Manifest): Promise<void> {
    const members = ringAmongRecords(manifest.records);
    if (members) throw ring(members.map((i) => `records[${i}]`));
    for (const [i, record] of manifest.records.entries())
      for (const target of record.supersedes.filter((t) => !t.startsWith('#'))) {
        const topic = topicOf(target);
        const known =
          topic !== undefined &&
          record.topics.some((t) => t.id === topic) &&
          (
            await this.streams.load(topicStreams, topicStream(caller.workspace, topic))
          ).state.decisions.has(target);
        if (!known)
          throw new Refusal(
            'invalid',
            'unknown_target',
            `${target} is no decision of the record’s topic`,
            {
              path: `records[${i}].supersedes`,
              issues: [{ path: `records[${i}].supersedes`, problem: `unknown decision ${target}` }],
              fix: 'name decisions of the same topic; get_decision_history lists them',
            },
          );
      }
    await this.checkRings(caller, manifest);
  }

  /** The same claim again, now said to replace one of its successors. */
  private async checkRings(caller: Caller, manifest: Manifest): Promise<void> {
    const plan = planIngestion(manifest, [], { governor: false, job: 'check' });
    for (const { topic, claim } of plan.topics.flat()) {
      const { state } = await this.streams.load(
        topicStreams,
        topicStream(caller.workspace, topic.id),
      );
      if (state.decisions.has(claim.decision_id))
        topicStreams.decider.decide(
          {
            type: 'Propose',
            topic: topic.id,
            name: topic.name,
            aliases: [],
            claim: { ...claim, proposed_by: caller.principal, origin: '' },
          },
          state,
        );
    }
  }
}
