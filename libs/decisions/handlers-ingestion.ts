import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { workspaceView } from '#access/index.js';
import type { BlobStore } from '#event-store/event-store.js';
import { Sealing } from '#event-store/sealing.js';
import { originOf, Streams } from '#event-store/streams.js';
import { isGovernor, type Caller, type Clock } from '#kernel/context.js';
import { derivedId } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { BLOBS, CLOCK } from '#projections/tokens.js';
import type { IngestInput, IngestReceipt, RecordInput } from './contract-ingestion.js';
import { topicId, topicOf } from './domain/claim.js';
import { documentKeys, planIngestion } from './domain/document-plan.js';
import type { Standing } from './domain/document-standing.js';
import { assertSameContent } from './domain/ingestion.js';
import {
  planRecords,
  ringAmongRecords,
  type Manifest,
  type ManifestRecord,
  type ManifestSource,
  type Plan,
} from './domain/ingestion-plan.js';
import {
  claimsIn,
  collectionOf,
  contentOf,
  dryRun,
  extractedRecord,
  jobOf,
  manifestRecord,
  markedDecisions,
  refuseEmptyIntervals,
  remarksOn,
  sourcesOf,
  textsOf,
  topicNames,
  type Text,
} from './handlers-submission.js';
import { ring } from './domain/topic-refusals.js';
import { SubmitIngestion } from './messages.js';
import { sealedSubmission, withSubjects } from './handlers-sealing.js';
import { standingOf } from './handlers-standing.js';
import { topicsOfDocuments } from './projections/documents.js';
import { assertPossible, ontologyAt } from './projections/ontology-queries.js';
import { topicsNamed } from './projections/topics.js';
import {
  homeTopic,
  ingestionStream,
  ingestionStreams,
  topicStream,
  topicStreams,
} from './streams.js';

@CommandHandler(SubmitIngestion)
export class SubmitIngestionHandler implements ICommandHandler<SubmitIngestion> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    private readonly sealing: Sealing,
    @Inject(BLOBS) private readonly blobs: BlobStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Everything is checked before anything is stored; what is acknowledged will be worked through, whatever happens next. */
  async execute({ caller, input }: SubmitIngestion): Promise<IngestReceipt> {
    const texts = textsOf(input);
    const given = sourcesOf(caller, input, texts);
    const job = jobOf(caller, input);
    const content_sha256 = contentOf(input, texts);
    const stream = ingestionStream(caller.workspace, job);
    const before = await this.streams.load(ingestionStreams, stream);
    // Handed in before: whatever has changed since, it is that job. Other content is refused before its texts are stored.
    assertSameContent(before.state, content_sha256);
    if (before.state.status !== 'absent') return this.repeated(stream, job, given);

    const { workspace } = caller;
    const sources = await this.models.read((reads) =>
      withSubjects(reads, this.sealing, workspace, given, input.documents !== undefined),
    );
    const zone = this.models.now((reads) => workspaceView(reads, workspace).zone);
    refuseEmptyIntervals(input, zone);
    const manifest = {
      ...(await this.manifestOf(caller, input, sources, texts)),
      remarks: remarksOn(sources, this.clock(), zone),
    };
    await this.checkScopes(caller, manifest);
    await this.checkTargets(caller, manifest);
    const governor = isGovernor(caller);
    if (input.dry_run) {
      const known = await this.models.read((reads) =>
        topicsOfDocuments(reads, workspace, documentKeys(manifest)),
      );
      const plan = planIngestion(
        manifest,
        texts.map((t) => t.text),
        { governor, job },
        known,
      );
      const fourEyes = caller.fourEyes ? caller.principal : undefined;
      return dryRun(manifest, plan, await this.standings(caller, plan), fourEyes);
    }
    const { blobs, names } = await sealedSubmission(this.sealing, workspace, manifest, texts);
    await this.blobs.putBlobs(blobs);
    const submission = {
      job_id: job,
      content_sha256,
      ...names,
      records_total: manifest.paths?.length ?? claimsIn(manifest),
      governor,
      ...(caller.fourEyes ? { four_eyes: true } : {}),
      zone,
      ...(input.request_id === undefined ? {} : { request_id: input.request_id }),
    };
    const origin = originOf(caller, derivedId('ingest', caller.workspace, job));
    const command = { type: 'Submit', submission } as const;
    const done = await this.streams.execute(ingestionStreams, stream, command, origin);
    if (done.events.length === 0) return this.repeated(stream, job, sources);
    return receiptOf(job, sources, submission.records_total, done.position);
  }

  /** B01: the receipt of the acceptance, byte for byte, whatever has become of the job. */
  private async repeated(
    stream: string,
    job: string,
    sources: readonly ManifestSource[],
  ): Promise<IngestReceipt> {
    const { state, position } = await this.streams.began(ingestionStreams, stream);
    return receiptOf(job, sources, state.status === 'absent' ? 0 : state.total, position);
  }

  /** How each planned claim stands before anything of the plan is recorded. */
  private async standings(caller: Caller, plan: Plan): Promise<(Standing & { home: string })[]> {
    const found: (Standing & { home: string })[] = [];
    for (const claims of plan.topics) {
      const renamed = new Map<string, string>();
      for (const planned of claims)
        found.push(await standingOf(this.streams, caller.workspace, planned, { renamed }));
    }
    return found;
  }

  private async manifestOf(
    caller: Caller,
    input: IngestInput,
    sources: ManifestSource[],
    texts: readonly Text[],
  ): Promise<Manifest> {
    const collection = collectionOf(input);
    if (input.documents)
      return { collection, paths: input.documents.map((d) => d.path), sources, records: [] };
    if (!input.records) return this.extracted(caller, collection, sources, texts[0]?.text ?? '');
    const topics = await this.topicsOf(caller, input.records);
    const records = input.records.map((record, i) =>
      manifestRecord(
        record,
        `records[${i}]`,
        topics[i] ?? [],
        sources[0]?.source_id ?? '',
        texts[0]?.text ?? '',
      ),
    );
    return { collection, sources, records };
  }

  /** Without records, a text is read for the decisions that it marks. A name that several topics bear assigns none of them. */
  private async extracted(
    caller: Caller,
    collection: string,
    sources: ManifestSource[],
    text: string,
  ): Promise<Manifest> {
    const [source] = sources;
    const { records, extraction } = markedDecisions(text, source?.document ?? '');
    const topics = await this.models.read((reads) =>
      records.map(({ topic }): ManifestRecord['topics'] => {
        if (topic === undefined) return [];
        const [only, ...more] = topicsNamed(reads, caller.workspace, topic);
        if (!only) return [{ id: topicId(topic), name: topic }];
        return more.length > 0 ? [] : [{ id: only.topic, name: only.name }];
      }),
    );
    const taken = records.map((record, i) =>
      extractedRecord(record, extraction.by, topics[i] ?? [], source?.source_id ?? '', text),
    );
    return { collection, sources, records: taken, extraction };
  }

  /** The topics that the records name: known ones by their id, others to be opened. */
  private topicsOf(
    caller: Caller,
    records: readonly RecordInput[],
  ): Promise<ManifestRecord['topics'][]> {
    return this.models.read((reads) =>
      records.map((record, i) =>
        topicNames(record).map((name) => {
          const [only, ...more] = topicsNamed(reads, caller.workspace, name);
          if (only && more.length > 0)
            throw invalid(
              `records[${i}].topic`,
              `several topics bear the name "${name}"`,
              `give one of the ids ${[only, ...more].map((t) => t.topic).join(', ')}`,
            );
          return only ? { id: only.topic, name: only.name } : { id: topicId(name), name };
        }),
      ),
    );
  }

  private async checkScopes(caller: Caller, { records }: Manifest): Promise<void> {
    const ontology = await this.models.read((reads) => ontologyAt(reads, caller.workspace));
    const scopes = records.map(({ scope }, i) => ({ path: `records[${i}].scope`, scope }));
    assertPossible(ontology, scopes, 'propose a new one with edit_ontology');
  }

  /** A record may only replace decisions that exist in its topic and must close no ring (B08): decided on the present state, appended nowhere. */
  private async checkTargets(caller: Caller, manifest: Manifest): Promise<void> {
    const members = ringAmongRecords(manifest.records);
    if (members) throw ring(members.map((i) => `records[${i}]`));
    for (const [i, record] of manifest.records.entries())
      for (const target of record.supersedes.filter((t) => !t.startsWith('#'))) {
        const began = topicOf(target);
        const topic =
          began === undefined ? undefined : await homeTopic(this.streams, caller.workspace, began);
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
    if (manifest.paths) return;
    const plan = planRecords(manifest, { governor: false, job: 'check' });
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

function receiptOf(
  job: string,
  sources: readonly ManifestSource[],
  records_total: number,
  position: number,
): IngestReceipt {
  return {
    job_id: job,
    status: 'accepted',
    source_ids: sources.map((s) => s.source_id),
    records_total,
    position: String(position),
  };
}
