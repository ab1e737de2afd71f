import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { originOf, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type {
  Conflicts,
  ResolveConflictInput,
  ResolveConflictReceipt,
} from './contract-conflicts.js';
import { openerOf, topicOf } from './domain/claim.js';
import type { Timing } from './domain/topic-state.js';
import type { ConflictCommand } from './domain/topic-conflict.js';
import { assertMayDecide } from './handlers-review.js';
import { FindConflicts, ResolveConflict } from './messages.js';
import { conflicts } from './projections/conflicts.js';
import { timingFor } from './projections/timing.js';
import { homeTopic, topicStream, topicStreams } from './streams.js';

@QueryHandler(FindConflicts)
export class FindConflictsHandler implements IQueryHandler<FindConflicts> {
  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  execute({ caller, input }: FindConflicts): Promise<Conflicts> {
    return this.models.read(
      (reads, at) => conflicts(reads, caller.workspace, input, this.clock(), at),
      Number(input.at_least ?? 0),
    );
  }
}

@CommandHandler(ResolveConflict)
export class ResolveConflictHandler implements ICommandHandler<ResolveConflict> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ caller, input }: ResolveConflict): Promise<ResolveConflictReceipt> {
    assertMayDecide(caller, input.action);
    const began = topicOfConflict(input.conflict_id);
    const topic = await homeTopic(this.streams, caller.workspace, began);
    const timing = this.models.now((reads) =>
      timingFor(reads, caller.workspace, topic, this.clock()),
    );
    const fourEyes = caller.fourEyes ? caller.principal : undefined;
    const done = await this.streams.execute(
      topicStreams,
      topicStream(caller.workspace, topic),
      commandOf(input, timing, fourEyes),
      originOf(caller, randomUUID()),
    );
    return {
      conflict_id: input.conflict_id,
      status: input.action === 'resolve' ? 'resolved' : 'dismissed',
      superseded: done.events.flatMap((e) =>
        e.type === 'DecisionSuperseded' ? [e.data.decision_id] : [],
      ),
      conflicts_opened: done.events.flatMap((e) =>
        e.type === 'ConflictOpened' ? [e.data.conflict_id] : [],
      ),
      conflicts_closed: done.events.flatMap((e) =>
        (e.type === 'ConflictResolved' || e.type === 'ConflictDismissed') &&
        e.data.conflict_id !== input.conflict_id
          ? [e.data.conflict_id]
          : [],
      ),
      position: String(done.position),
    };
  }
}

/** A conflict is named after the decision that opened it, which belongs to one topic. */
function topicOfConflict(id: string): string {
  return topicOf(openerOf(id)) ?? '~';
}

function commandOf(
  { conflict_id: conflictId, action, winner_decision_id: winner, reason }: ResolveConflictInput,
  { nowMs, isWithin }: Timing,
  fourEyes: string | undefined,
): ConflictCommand {
  const given = { conflictId, reason, nowMs, isWithin };
  if (action === 'dismiss') {
    if (winner !== undefined)
      throw invalid('winner_decision_id', 'has no meaning for dismiss', 'leave it out');
    return { type: 'DismissConflict', ...given };
  }
  if (winner === undefined)
    throw new Refusal('invalid', 'winner_missing', 'a conflict is resolved by naming its winner', {
      path: 'winner_decision_id',
      issues: [{ path: 'winner_decision_id', problem: 'is needed to resolve' }],
      fix: 'name the claim that prevails, or dismiss the conflict if the claims are compatible',
    });
  return { type: 'ResolveConflict', ...given, winner, fourEyes };
}
