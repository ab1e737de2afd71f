import { randomUUID } from 'node:crypto';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { assertAdministers } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import { subjectKey } from '#kernel/sealing.js';
import { ReadModels } from '#projections/read-models.js';
import type { Hold, Holds } from './contract-erasure.js';
import { holdId } from './domain/subject.js';
import { nothingOf, page, SubjectHandler } from './handlers-subjects.js';
import { ListLegalHolds, PlaceLegalHold, ReleaseLegalHold } from './messages-erasure.js';
import { holdById, holdList, type HoldView } from './projections/subject-queries.js';
import { subjectStream, subjectStreams } from './streams.js';

@CommandHandler(PlaceLegalHold)
export class PlaceLegalHoldHandler
  extends SubjectHandler
  implements ICommandHandler<PlaceLegalHold>
{
  async execute({ caller, input }: PlaceLegalHold): Promise<Hold> {
    assertAdministers(caller);
    const { workspace } = caller;
    const key = await this.keyOf(caller, input);
    const hold = holdId(workspace, key, input.matter);
    await this.streams.execute(
      subjectStreams,
      subjectStream(workspace, key),
      { type: 'Hold', hold, key, matter: input.matter },
      originOf(caller, randomUUID()),
    );
    return holdShown(this.models, workspace, hold);
  }
}

@CommandHandler(ReleaseLegalHold)
export class ReleaseLegalHoldHandler implements ICommandHandler<ReleaseLegalHold> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, input }: ReleaseLegalHold): Promise<Hold> {
    assertAdministers(caller);
    const { workspace } = caller;
    const { key } = await holdShown(this.models, workspace, input.hold_id);
    await this.streams.execute(
      subjectStreams,
      subjectStream(workspace, key),
      { type: 'Release', hold: input.hold_id, key },
      originOf(caller, randomUUID()),
    );
    return holdShown(this.models, workspace, input.hold_id);
  }
}

@QueryHandler(ListLegalHolds)
export class ListLegalHoldsHandler implements IQueryHandler<ListLegalHolds> {
  constructor(private readonly models: ReadModels) {}

  execute({ caller, input }: ListLegalHolds): Promise<Holds> {
    assertAdministers(caller);
    const { workspace } = caller;
    const key = input.subject === undefined ? undefined : subjectKey(workspace, input.subject);
    const releasedToo = input.include_released ?? false;
    return page(this.models, input, (reads, after, limit, at) =>
      holdList(reads, workspace, { key, releasedToo, after, limit }).map((view) => ({
        at: view.position,
        item: { ...holdOf(view), position: at },
      })),
    );
  }
}

function holdShown(models: ReadModels, workspace: string, id: string): Promise<Hold> {
  return models.read((reads, at) => {
    const view = holdById(reads, workspace, id);
    if (!view) throw nothingOf('hold', 'hold_id', 'GET /v1/legal-holds lists them');
    return { ...holdOf(view), position: String(at) };
  });
}

function holdOf(view: HoldView): Omit<Hold, 'position'> {
  return {
    hold_id: view.id,
    matter: view.matter,
    key: view.key,
    sources: view.sources,
    placed_by: view.placedBy,
    placed_at: view.placedAt,
    ...(view.releasedBy === undefined ? {} : { released_by: view.releasedBy }),
    ...(view.releasedAt === undefined ? {} : { released_at: view.releasedAt }),
  };
}
