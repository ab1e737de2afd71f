import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { originOf, Streams, type Origin } from '#event-store/streams.js';
import { assertGovernor, type Caller, type Clock } from '#kernel/context.js';
import { derivedId } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { ReviewInput, ReviewReceipt } from './contract-review.js';
import { contentHash, decisionId, isUnread, topicId, topicOf } from './domain/claim.js';
import { isUnassigned } from './domain/ingestion-plan.js';
import type { TopicCommand } from './domain/topic.js';
import type { Approval, Decision, Timing } from './domain/topic-state.js';
import type { Proposed } from './domain/topic.events.js';
import { staleRevision, unreadable } from './domain/topic-refusals.js';
import { ReviewDecision } from './messages.js';
import { claimById } from './projections/claim-queries.js';
import { timingFor } from './projections/timing.js';
import { topicsNamed } from './projections/topics.js';
import { homeTopic, topicStream, topicStreams } from './streams.js';

@CommandHandler(ReviewDecision)
export class ReviewDecisionHandler implements ICommandHandler<ReviewDecision> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller, input }: ReviewDecision): Promise<ReviewReceipt> {
    const topic = await homeTopic(
      this.streams,
      caller.workspace,
      topicOf(input.decision_id) ?? '~',
    );
    const stream = topicStream(caller.workspace, topic);
    const { state } = await this.streams.load(topicStreams, stream);
    mayReview(caller, input, state.decisions.get(input.decision_id));
    const timing = (topic: string): Timing & FourEyes => ({
      ...this.models.now((reads) => timingFor(reads, caller.workspace, topic, this.clock())),
      fourEyes: caller.fourEyes ? caller.principal : undefined,
    });
    const origin = originOf(caller, randomUUID());
    if (isUnassigned(topic) && input.action === 'approve')
      return assignTopic(this.streams, this.models, origin, input, timing);
    const done = await this.streams.execute(
      topicStreams,
      stream,
      reviewCommand(input, timing(topic)),
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

type FourEyes = Pick<Approval, 'fourEyes'>;

/** O-07: governing is for governors; QO-13: a proposer may withdraw his own candidate. */
function mayReview(caller: Caller, input: ReviewInput, decision: Decision | undefined): void {
  if (input.action === 'retract' && decision?.proposedBy === caller.principal) return;
  assertMayDecide(caller, input.action);
}

/** O-07, for a tool whose `action` says what is to be done. */
export function assertMayDecide(caller: Caller, action: string): void {
  const fix = 'ask an admin or owner of the workspace; list_pending_decisions shows what waits';
  assertGovernor(caller, action, fix, 'action');
}

function reviewCommand(input: ReviewInput, timing: Timing & FourEyes): TopicCommand {
  refuseForeignFields(input);
  const { decision_id: decisionId, reason, content_hash: contentHash } = input;
  const ending = { decisionId, reason, contentHash };
  switch (input.action) {
    case 'approve':
      return { type: 'Approve', decisionId, contentHash, ...approvalOf(input, timing) };
    case 'reject':
      return { type: 'Reject', ...ending };
    case 'retract':
      return { type: 'Retract', ...ending };
    case 'revoke':
      return { type: 'Revoke', ...ending, from: input.effective_from, ...timing };
  }
}

function approvalOf(input: ReviewInput, timing: Timing & FourEyes): Omit<Approval, 'decisionId'> {
  return {
    reason: input.reason,
    supersedes: input.supersedes,
    supersededBy: input.superseded_by,
    effectiveFrom: input.effective_from,
    effectiveTo: input.effective_to,
    ...timing,
  };
}

/** A field that an action does not know would be silently without effect: refused instead. */
function refuseForeignFields(input: ReviewInput): void {
  const fields = ['supersedes', 'superseded_by', 'effective_to', 'effective_from'] as const;
  const allowed: readonly string[] =
    input.action === 'approve' ? fields : input.action === 'revoke' ? ['effective_from'] : [];
  for (const field of fields)
    if (input[field] !== undefined && !allowed.includes(field))
      throw invalid(field, `has no meaning for ${input.action}`, 'leave it out');
  const topic = topicOf(input.decision_id);
  if (input.topic !== undefined && topic !== undefined && topicId(input.topic) !== topic)
    throw invalid('topic', `the decision belongs to ${topic}`, 'leave it out');
}

/**
 * Approves a candidate that has no topic yet by proposing and approving it in the one that the reviewer names, then withdraws it where
 * it waited. Cut short in between it can be sent again: the claim is recognised in its topic.
 */
async function assignTopic(
  streams: Streams,
  models: ReadModels,
  origin: Origin,
  input: ReviewInput,
  timing: (topic: string) => Timing & FourEyes,
): Promise<ReviewReceipt> {
  const waiting = topicOf(input.decision_id) ?? '';
  const { workspace } = origin;
  const { view, topic } = await models.read((reads) => {
    const [named, ...more] =
      input.topic === undefined ? [] : topicsNamed(reads, workspace, input.topic);
    if (more.length > 0)
      throw invalid('topic', 'several topics bear this name', 'give the id of one of them');
    return {
      view: claimById(reads, workspace, waiting, input.decision_id),
      topic:
        named ??
        (input.topic === undefined
          ? undefined
          : { topic: topicId(input.topic), name: input.topic }),
    };
  });
  const { state } = await streams.load(topicStreams, topicStream(workspace, waiting));
  const held = state.decisions.get(input.decision_id);
  if (!view || !held) throw unknown(input.decision_id);
  if (isUnread(view)) throw unreadable(input.decision_id);
  if (!topic)
    throw new Refusal('invalid', 'topic_unassigned', 'the candidate has no topic yet', {
      path: 'topic',
      issues: [{ path: 'topic', problem: 'is needed to approve this candidate' }],
      fix: 'name the topic that it decides about',
    });
  if (input.content_hash !== undefined && input.content_hash !== held.contentHash)
    throw staleRevision(state, input.content_hash, held);
  const claim = moved(view, topic.topic, held);
  const there = await streams.load(topicStreams, topicStream(workspace, topic.topic));
  const twin = there.state.decisions.get(claim.decision_id);
  if (twin && ['rejected', 'retracted', 'revoked'].includes(twin.status))
    throw new Refusal(
      'conflict',
      'already_decided',
      `${twin.id} says the same and is ${twin.status} already`,
      {
        path: 'topic',
        issues: [{ path: 'topic', problem: `the state of ${twin.id} is ${twin.status}` }],
        fix: 'retract this candidate; to propose it again, ingest it with a decided_at or effective_from of its own, or in other words',
      },
    );
  const done = await streams.execute(
    topicStreams,
    topicStream(workspace, topic.topic),
    {
      type: 'Propose',
      topic: topic.topic,
      name: topic.name,
      aliases: [topic.name],
      claim,
      approval: approvalOf(input, timing(topic.topic)),
    },
    origin,
  );
  await streams.execute(
    topicStreams,
    topicStream(workspace, waiting),
    { type: 'Retract', decisionId: input.decision_id, reason: `assigned to ${claim.decision_id}` },
    { ...origin, command: derivedId(origin.command, 'withdraw') },
  );
  return {
    decision_id: claim.decision_id,
    state: done.state.decisions.get(claim.decision_id)?.status ?? '',
    topic: topic.topic,
    position: String(streams.acknowledged),
    conflicts_opened: done.events.flatMap((e) =>
      e.type === 'ConflictOpened' ? [e.data.conflict_id] : [],
    ),
  };
}

function unknown(id: string): Refusal {
  return new Refusal('not_found', 'unknown_decision', `no decision ${id}`, { path: 'decision_id' });
}

function moved(
  view: NonNullable<ReturnType<typeof claimById>>,
  topic: string,
  { origin, proposedBy, keys }: Decision,
): Proposed {
  const said = {
    statement: view.statement,
    ...(view.value === undefined ? {} : { value: view.value }),
    scope: view.scope,
    ...(view.effective_from === undefined ? {} : { effective_from: view.effective_from }),
    ...(view.effective_to === undefined ? {} : { effective_to: view.effective_to }),
    ...(view.decided_at === undefined ? {} : { decided_at: view.decided_at }),
    supersedes: [],
    relations: view.relations,
    evidence: view.evidence,
  };
  return {
    decision_id: decisionId(topic, said),
    ...said,
    content_hash: contentHash(said),
    reasons: [],
    proposed_by: proposedBy,
    origin,
    ...(keys.length === 0 ? {} : { keys: [...keys] }),
  };
}
