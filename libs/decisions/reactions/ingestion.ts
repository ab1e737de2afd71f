import type { CommandBus } from '@nestjs/cqrs';
import type { BlobStore, RecordedEvent } from '#event-store/event-store.js';
import type { Sealing, TextName } from '#event-store/sealing.js';
import type { Origin, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { whenMs } from '#kernel/time.js';
import { reaction, type Reaction } from '#projections/reaction.js';
import type { ReadModels } from '#projections/read-models.js';
import { CaptureSource } from '#sources/module.js';
import { documentKey } from '../domain/claim.js';
import { documentKeys, planIngestion, type TopicsOfDocuments } from '../domain/document-plan.js';
import {
  keysOfFindings,
  keysOfRecord,
  planRecords,
  type Manifest,
  type Plan,
  type PlannedClaim,
} from '../domain/ingestion-plan.js';
import type { Ingestion } from '../domain/ingestion.js';
import { ingestionCodec, type OutcomeEvent, type Submitted } from '../domain/ingestion.events.js';
import type { Approval } from '../domain/topic-state.js';
import { topicsOfDocuments } from '../projections/documents.js';
import { timingFor } from '../projections/timing.js';
import { sealedJson } from '../handlers-sealing.js';
import { distinct, standingOf } from '../handlers-standing.js';
import { ingestionStream, ingestionStreams, topicStream, topicStreams } from '../streams.js';
import { atOnce } from './at-once.js';
import { readWith, type Extractor, type Reading } from './extractor.js';
import {
  mayPass,
  outcomeOf,
  reasonOfRefusal,
  sealedOutcome,
  skippedFor,
} from './ingestion-outcome.js';

type Renamed = Map<string, string>;

interface Needs {
  streams: Streams;
  sealing: Sealing;
  models: Pick<ReadModels, 'now' | 'read'>;
  commands: CommandBus;
  blobs: BlobStore;
  clock: Clock;
  /** Reads plain texts beside the reader of what they mark; off without one. */
  extractor?: Extractor | undefined;
}

/** Outcomes reported in one append: small enough to show progress, large enough to cost little. */
const REPORT_EVERY = 50;

/**
 * Works an ingestion through once it was submitted: captures its sources, proposes its claims, approves those that may be, and reports
 * each record's outcome. Cut short anywhere and run again, it goes on where it was: every step recognises what is already there.
 */
export function ingestionReaction(needs: Needs): Reaction {
  return reaction('ingestion', ingestionCodec, 'IngestionSubmitted', (submitted, event) =>
    new Job(needs, submitted, event).run(),
  );
}

class Job {
  private readonly id: string;
  private readonly outcomes: OutcomeEvent[] = [];
  /** What came up while the claims were recorded. */
  private readonly findings: Plan['findings'] = [];
  private manifest: Manifest = { collection: '', sources: [], records: [] };

  constructor(
    private readonly needs: Needs,
    private readonly submitted: Submitted,
    private readonly event: RecordedEvent,
  ) {
    this.id = `ingestion@${event.position}`;
  }

  async run(): Promise<void> {
    const { state } = await this.needs.streams.load(ingestionStreams, this.stream);
    if (state.status === 'completed') return;
    const { manifest_sha256, manifest_blob } = this.submitted;
    const read = await this.text({ sha256: manifest_sha256, blob: manifest_blob });
    // Erased before it was worked through: nothing may come of it any more.
    if (read === 'erased') return this.complete([]);
    const manifest = JSON.parse(read.text) as Manifest;
    this.manifest = manifest;
    const texts = await Promise.all(manifest.sources.map((s) => this.textOf(s)));
    const { governor, job_id: job } = this.submitted;
    const known = await this.topicsOf(documentKeys(manifest));
    const plan = planIngestion(manifest, texts, { governor, job }, known);
    await this.capture(manifest, plan, texts);
    await this.extract(manifest, texts[0] ?? '', state, plan);
    for (const { index, path, reason } of plan.skipped)
      this.outcomes.push({ type: 'IngestionRecordSkipped', data: { index, path, reason } });
    await atOnce(plan.topics, async (claims) => {
      const renamed = new Map<string, string>();
      for (const planned of claims) this.outcomes.push(await this.record(planned, renamed));
      if (this.outcomes.length >= REPORT_EVERY) await this.report();
    });
    await this.report();
    await this.complete(distinct([...plan.findings, ...this.findings]));
  }

  private async topicsOf(keys: readonly string[]): Promise<TopicsOfDocuments> {
    const { workspace, position } = this.event;
    if (keys.length === 0) return new Map();
    return this.needs.models.read((reads) => topicsOfDocuments(reads, workspace, keys), position);
  }

  private async complete(findings: Plan['findings']): Promise<void> {
    const keys = keysOfFindings(this.manifest, findings);
    await this.needs.streams.execute(
      ingestionStreams,
      this.stream,
      this.needs.sealing.erased(keys)
        ? { type: 'Complete', findings: [], keys: [] }
        : { type: 'Complete', findings, keys },
      this.origin('complete'),
    );
  }

  /** Adds what a further reader finds to the plan. It reads once: what it found is kept before anything comes of it. */
  private async extract(
    manifest: Manifest,
    text: string,
    state: Ingestion,
    plan: Plan,
  ): Promise<void> {
    const reading = await this.reading(manifest, text, state);
    if (!reading) return;
    const { governor, job_id: job } = this.submitted;
    const read = planRecords({ ...manifest, records: reading.records }, { governor, job });
    const first = manifest.records.length;
    plan.topics.push(...read.topics.map((t) => t.map((c) => ({ ...c, index: c.index + first }))));
    plan.findings.push(...reading.findings);
  }

  private async reading(
    manifest: Manifest,
    text: string,
    state: Ingestion,
  ): Promise<Reading | undefined> {
    if (state.status !== 'absent' && state.reading !== undefined) {
      const kept = await this.text(state.reading);
      return kept === 'erased' ? undefined : (JSON.parse(kept.text) as Reading);
    }
    const { extractor, blobs, streams, sealing } = this.needs;
    const [source] = manifest.sources;
    if (!extractor || !manifest.extraction || !source || text === '') return undefined;
    const reading = await readWith(extractor, text, source, manifest.records);
    if (reading.records.length === 0) return reading;
    const { keys = [] } = this.submitted;
    const { stored, name } = sealedJson(sealing, this.event.workspace, keys, reading);
    await blobs.putBlobs([stored]);
    await streams.execute(
      ingestionStreams,
      this.stream,
      { type: 'Extract', by: extractor.name, reading: name, records: reading.records.length },
      this.origin('extract'),
    );
    return reading;
  }

  private get stream(): string {
    return ingestionStream(this.event.workspace, this.submitted.job_id);
  }

  /** On behalf of who submitted it, with a command id of its own for each step. */
  private origin(step: string): Origin {
    return {
      workspace: this.event.workspace,
      actor: this.event.actor,
      command: `${this.id}/${step}`,
      correlation: this.event.correlation,
    };
  }

  private async text(name: TextName): Promise<{ text: string } | 'erased'> {
    const bytes = await this.needs.sealing.read(this.needs.blobs, name);
    if (bytes === 'erased') return bytes;
    if (!bytes) throw new Error(`the text ${name.sha256} is missing, or its key`);
    return { text: Buffer.from(bytes).toString('utf8') };
  }

  /** Erased just now, it is worked through as an empty text: nothing comes of it. */
  private async textOf(name: TextName): Promise<string> {
    const read = await this.text(name);
    return read === 'erased' ? '' : read.text;
  }

  /** A document that holds no decision is no source of one: it is skipped whole. */
  private async capture(manifest: Manifest, plan: Plan, texts: readonly string[]): Promise<void> {
    const skipped = new Set(plan.skipped.map((s) => s.index));
    const titles = new Map(plan.topics.flat().map((p) => [p.index, p.claim.statement]));
    const kept = manifest.sources
      .map((source, i) => ({ source, i }))
      .filter(({ i }) => texts[i] !== '' && !(manifest.paths && skipped.has(i)));
    await atOnce(kept, async ({ source, i }) => {
      if (this.needs.sealing.erased(source.keys ?? [])) return;
      const title = manifest.paths ? (titles.get(i) ?? source.title) : source.title;
      const details = { ...source, title };
      await this.needs.commands.execute(
        new CaptureSource(details, this.origin(`source-${source.source_id}`)),
      );
    });
  }

  private async record(
    planned: PlannedClaim,
    renamed: Renamed,
    approve = planned.approve,
  ): Promise<OutcomeEvent> {
    try {
      return await this.propose(planned, approve, renamed);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || mayPass(refusal)) throw refusal;
      if (!approve) return skippedFor(planned, refusal);
      // What cannot be approved now is not lost: it waits for a reviewer with the refusal as its reason.
      const claim = { ...planned.claim, reasons: [reasonOfRefusal(refusal)] };
      return this.record({ ...planned, claim }, renamed, false);
    }
  }

  private async propose(
    planned: PlannedClaim,
    approve: boolean,
    renamed: Renamed,
  ): Promise<OutcomeEvent> {
    const { index, path } = planned;
    const { workspace } = this.event;
    const { streams } = this.needs;
    const origin = `${this.submitted.job_id}#${index}`;
    const present = await standingOf(streams, workspace, planned, { origin, renamed });
    this.findings.push(...present.findings);
    const topic = { ...planned.topic, id: present.home };
    const said = present.planned.claim;
    const keys = keysOfRecord(this.manifest, index);
    const claim = {
      ...said,
      ...(said.document === undefined ? {} : { document_key: documentKey(said.document) }),
      ...(keys.length === 0 ? {} : { keys }),
      proposed_by: this.event.actor.principal,
      origin,
    };
    const done = await streams.execute(
      topicStreams,
      topicStream(workspace, topic.id),
      {
        type: 'Propose',
        topic: topic.id,
        name: topic.name,
        aliases: topic.aliases,
        claim,
        ...(approve
          ? { approval: { reason: `ingested as decided (${origin})`, ...this.timing(topic.id) } }
          : {}),
      },
      this.origin(`claim-${index}-${topic.id}`),
    );
    const held = done.state.decisions.get(claim.decision_id);
    const place = { index, topic: topic.id, ...(path === undefined ? {} : { path }) };
    return outcomeOf(
      { ...place, decision_id: claim.decision_id },
      done.events,
      { decision: held, mine: held?.origin === origin },
      claim.reasons,
    );
  }

  /** As of now, but for the zone and the wish for four eyes, which are those of the submission. */
  private timing(topic: string): Omit<Approval, 'decisionId' | 'reason'> {
    const { zone, four_eyes } = this.submitted;
    const { workspace, actor } = this.event;
    return {
      ...this.needs.models.now((reads) => timingFor(reads, workspace, topic, this.needs.clock())),
      toMs: (when) => whenMs(when, zone),
      fourEyes: four_eyes === true ? actor.principal : undefined,
    };
  }

  private async report(): Promise<void> {
    const outcomes = this.outcomes.splice(0);
    for (let i = 0; i < outcomes.length; i += REPORT_EVERY) {
      const part = outcomes.slice(i, i + REPORT_EVERY);
      const [first] = part;
      if (!first) return;
      await this.needs.streams.execute(
        ingestionStreams,
        this.stream,
        {
          type: 'Report',
          outcomes: part.map((one) => sealedOutcome(one, this.manifest, this.needs.sealing)),
        },
        this.origin(`report-${first.data.index}-${first.data.topic ?? ''}`),
      );
    }
  }
}
