import { randomUUID } from 'node:crypto';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { assertAdministers } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import type { Reads } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import type { Hold, Holds } from './contract-erasure.js';
import { holdId } from './domain/subject.js';
import { assertOwner, homeOf } from './handlers-principals.js';
import { listedOf, nothingOf, page, SubjectHandler } from './handlers-subjects.js';
import { ListLegalHolds, PlaceLegalHold, ReleaseLegalHold } from './messages-erasure.js';
import { holdById, holdList, type HoldView } from './projections/subject-queries.js';
import { subjectStream, subjectStreams } from './streams.js';

@CommandHandler(PlaceLegalHold)
export class PlaceLegalHoldHandler
  extends SubjectHandler
  implements ICommandHandler<PlaceLegalHold>
{
  async execute({ caller, input }: PlaceLegalHold): Promise<Hold> {
    const { workspace, key, principal } = await this.targetOf(caller, input);
    const hold = holdId(workspace, key, input.matter);
    await this.streams.execute(
      subjectStreams,
      subjectStream(workspace, key),
      {
        type: 'Hold',
        hold,
        key,
        matter: input.matter,
        ...(principal ? { whose: { of: 'principal' } } : {}),
      },
      { ...originOf(caller, randomUUID()), workspace },
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
    const { workspace, key } = await this.models.read((reads) =>
      holdNamed(reads, caller, input.hold_id),
    );
    await this.streams.execute(
      subjectStreams,
      subjectStream(workspace, key),
      { type: 'Release', hold: input.hold_id, key },
      { ...originOf(caller, randomUUID()), workspace },
    );
    return holdShown(this.models, workspace, input.hold_id);
  }
}

@QueryHandler(ListLegalHolds)
export class ListLegalHoldsHandler implements IQueryHandler<ListLegalHolds> {
  constructor(private readonly models: ReadModels) {}

  async execute({ caller, input }: ListLegalHolds): Promise<Holds> {
    const { workspace, key } = await this.models.read((reads) => listedOf(reads, caller, input));
    const releasedToo = input.include_released ?? false;
    return page(this.models, input, (reads, after, limit, at) =>
      holdList(reads, workspace, { key, releasedToo, after, limit }).map((view) => ({
        at: view.position,
        item: { ...holdOf(view), position: at },
      })),
    );
  }
}

/** A hold on texts of the workspace, or on a principal, whichever the caller decides about. */
function holdNamed(reads: Reads, caller: Caller, id: string): { workspace: string; key: string } {
  const home = homeOf(reads, caller);
  const ofPrincipal = home === undefined ? undefined : holdById(reads, home, id);
  if (home !== undefined && ofPrincipal?.of) return { workspace: home, key: ofPrincipal.key };
  assertAdministers(caller);
  const { workspace } = caller;
  const view = holdById(reads, workspace, id);
  if (view?.of) assertOwner(reads, caller);
  if (view) return { workspace, key: view.key };
  throw nothingOf('hold', 'hold_id', 'GET /v1/legal-holds lists them');
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
    ...(view.of === undefined ? {} : { of: view.of }),
    sources: view.sources,
    placed_by: view.placedBy,
    placed_at: view.placedAt,
    ...(view.releasedBy === undefined ? {} : { released_by: view.releasedBy }),
    ...(view.releasedAt === undefined ? {} : { released_at: view.releasedAt }),
  };
}
