import type { CommandBus } from '@nestjs/cqrs';
import type { BlobStore, RecordedEvent } from '#event-store/event-store.js';
import type { Origin, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { whenMs } from '#kernel/time.js';
import { reaction, type Reaction } from '#projections/reaction.js';
import { CaptureSource } from '#sources/module.js';
import { planIngestion, replacingOwnHead } from '../domain/document-plan.js';
import type { Manifest, Plan, PlannedClaim } from '../domain/ingestion-plan.js';
import { ingestionCodec, type OutcomeEvent, type Submitted } from '../domain/ingestion.events.js';
import type { Timing } from '../domain/topic-state.js';
import type { TopicEvent } from '../domain/topic.events.js';
import { ingestionStream, ingestionStreams, topicStream, topicStreams } from '../streams.js';

interface Needs {
  streams: Streams;
  commands: CommandBus;
  blobs: BlobStore;
  clock: Clock;
}

/** Topics worked on at once; their appends share the engine's group commits. */
const AT_ONCE = 64;
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
    const manifest = JSON.parse(await this.text(this.submitted.manifest_sha256)) as Manifest;
    const texts = await Promise.all(manifest.sources.map((s) => this.text(s.sha256)));
    const plan = planIngestion(manifest, texts, {
      governor: this.submitted.governor,
      job: this.submitted.job_id,
    });
    await this.capture(manifest, plan, texts);
    for (const { index, path, reason } of plan.skipped)
      this.outcomes.push({ type: 'IngestionRecordSkipped', data: { index, path, reason } });
    await atOnce(plan.topics, async (claims) => {
      for (const planned of claims) this.outcomes.push(await this.record(planned));
      if (this.outcomes.length >= REPORT_EVERY) await this.report();
    });
    await this.report();
    await this.needs.streams.execute(
      ingestionStreams,
      this.stream,
      { type: 'Complete', findings: plan.findings },
      this.origin('complete'),
    );
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

  private async text(hash: string): Promise<string> {
    const bytes = await this.needs.blobs.getBlob(hash);
    if (!bytes) throw new Error(`blob ${hash} is missing`);
    return Buffer.from(bytes).toString('utf8');
  }

  /** A document that holds no decision is no source of one: it is skipped whole. */
  private async capture(manifest: Manifest, plan: Plan, texts: readonly string[]): Promise<void> {
    const skipped = new Set(plan.skipped.map((s) => s.index));
    const titles = new Map(plan.topics.flat().map((p) => [p.index, p.claim.statement]));
    const kept = manifest.sources
      .map((source, i) => ({ source, i }))
      .filter(({ i }) => texts[i] !== '' && !(manifest.paths && skipped.has(i)));
    await atOnce(kept, async ({ source, i }) => {
      const title = manifest.paths ? (titles.get(i) ?? source.title) : source.title;
      const details = { ...source, title };
      await this.needs.commands.execute(
        new CaptureSource(details, this.origin(`source-${source.source_id}`)),
      );
    });
  }

  private async record(planned: PlannedClaim): Promise<OutcomeEvent> {
    try {
      return await this.propose(planned, planned.approve);
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (planned.approve) return this.queueInstead(planned, refusal);
      return skippedFor(planned, refusal);
    }
  }

  /** What cannot be approved now is not lost: it waits for a reviewer with the refusal as its reason. */
  private async queueInstead(planned: PlannedClaim, refusal: Refusal): Promise<OutcomeEvent> {
    const claim = { ...planned.claim, reasons: [refusal.error] };
    try {
      return await this.propose({ ...planned, claim }, false);
    } catch (again) {
      if (!(again instanceof Refusal)) throw again;
      return skippedFor(planned, again);
    }
  }

  private async propose(planned: PlannedClaim, approve: boolean): Promise<OutcomeEvent> {
    const { topic, index, path } = planned;
    const stream = topicStream(this.event.workspace, topic.id);
    const { state } = await this.needs.streams.load(topicStreams, stream);
    const proposed_by = this.event.actor.principal;
    const origin = `${this.submitted.job_id}#${index}`;
    const claim = { ...replacingOwnHead(planned, state).claim, proposed_by, origin };
    const done = await this.needs.streams.execute(
      topicStreams,
      stream,
      {
        type: 'Propose',
        topic: topic.id,
        name: topic.name,
        aliases: topic.aliases,
        claim,
        ...(approve
          ? { approval: { reason: `ingested as decided (${origin})`, ...this.timing() } }
          : {}),
      },
      this.origin(`claim-${index}-${topic.id}`),
    );
    const held = done.state.decisions.get(claim.decision_id);
    const place = { index, topic: topic.id, ...(path === undefined ? {} : { path }) };
    return outcomeOf(
      { ...place, decision_id: claim.decision_id },
      done.events,
      { status: held?.status ?? 'candidate', mine: held?.origin === origin },
      claim.reasons,
    );
  }

  private timing(): Timing {
    const { zone } = this.submitted;
    return { nowMs: this.needs.clock(), toMs: (when) => whenMs(when, zone) };
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
        { type: 'Report', outcomes: part },
        this.origin(`report-${first.data.index}-${first.data.topic ?? ''}`),
      );
    }
  }
}

function outcomeOf(
  place: { index: number; topic: string; path?: string; decision_id: string },
  events: readonly TopicEvent[],
  held: { status: string; mine: boolean },
  reasons: string[],
): OutcomeEvent {
  const conflict = events.find((e) => e.type === 'ConflictOpened');
  if (conflict)
    return {
      type: 'IngestionRecordStored',
      data: { ...place, note: `conflict_opened ${conflict.data.conflict_id}` },
    };
  if (events.some((e) => e.type === 'DecisionConfirmed'))
    return { type: 'IngestionRecordStored', data: { ...place, note: 'confirms_head' } };
  if (events.some((e) => e.type === 'DecisionApproved'))
    return { type: 'IngestionRecordStored', data: place };
  if (!held.mine)
    return {
      type: 'IngestionRecordSkipped',
      data: { ...place, reason: `duplicate of ${place.decision_id}, which is ${held.status}` },
    };
  return held.status === 'candidate'
    ? { type: 'IngestionRecordQueued', data: { ...place, reasons } }
    : { type: 'IngestionRecordStored', data: place };
}

function skippedFor({ index, path, topic }: PlannedClaim, refusal: Refusal): OutcomeEvent {
  return {
    type: 'IngestionRecordSkipped',
    data: {
      index,
      topic: topic.id,
      ...(path === undefined ? {} : { path }),
      reason: `${refusal.error}: ${refusal.message}`,
    },
  };
}

async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
