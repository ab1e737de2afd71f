import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { assertAdministers } from '#access/index.js';
import { Sealing } from '#event-store/sealing.js';
import { originOf, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { subjectKey } from '#kernel/sealing.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK, RECEIPTS } from '#projections/tokens.js';
import type { Receipts } from '#transparency/receipts-port.js';
import type { Erasure, Erasures } from './contract-erasure.js';
import { erasureId, SOURCES_LISTED, type Grounds } from './domain/subject.js';
import { destroyKeys } from './reactions/erasure.js';
import { nothingOf, page, SubjectHandler } from './handlers-subjects.js';
import { EraseSubject, GetErasure, ListErasures } from './messages-erasure.js';
import {
  erasureById,
  erasureList,
  holdList,
  touchedBy,
  usesOf,
  type ErasureView,
} from './projections/subject-queries.js';
import { sourceView } from './projections/sources.js';
import { subjectStream, subjectStreams } from './streams.js';

/** Sources and decisions that a preview names. */
const SHOWN = 50;

@CommandHandler(EraseSubject)
export class EraseSubjectHandler extends SubjectHandler implements ICommandHandler<EraseSubject> {
  constructor(
    streams: Streams,
    models: ReadModels,
    private readonly sealing: Sealing,
    @Inject(RECEIPTS) private readonly receipts: Receipts,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    super(streams, models);
  }

  /** Record, destroy, forget, in this order; acknowledged after all three. A repetition goes on wherever the first one ended. */
  async execute({ caller, input }: EraseSubject): Promise<Erasure> {
    assertAdministers(caller);
    assertErasable(this.sealing);
    const { workspace, principal, fourEyes } = caller;
    const key = await this.keyOf(caller, input);
    const erasure = erasureId(workspace, key);
    const before = await this.models.read((reads) => erasureById(reads, workspace, erasure));
    if (!before) {
      const grounds: Grounds = {
        reason: input.reason,
        ...(input.reference === undefined ? {} : { reference: input.reference }),
      };
      const preview = await this.preview(workspace, key, grounds);
      if (input.dry_run) return preview;
      const { state } = await this.streams.execute(
        subjectStreams,
        subjectStream(workspace, key),
        {
          type: 'Erase',
          erasure,
          key,
          grounds,
          touched: preview.touched,
          sources: preview.source_ids,
          by: principal,
          fourEyes,
          nowMs: this.clock(),
        },
        originOf(caller, randomUUID()),
      );
      if (!state.erased)
        return {
          ...preview,
          status: 'awaiting_second',
          ...(state.request ? { requested_by: state.request.by } : {}),
          position: String(this.streams.acknowledged),
        };
    }
    await this.destroyed(key);
    return erasureShown(this.models, this.receipts, workspace, erasure);
  }

  /** Recorded and not destroyed yet, it is tried again until there is room, here and at the next start. */
  private async destroyed(key: string): Promise<void> {
    try {
      await destroyKeys(this.sealing, [key]);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind !== 'unavailable') throw error;
      throw new Refusal(
        'unavailable',
        'erasure_unfinished',
        'the erasure is recorded, and its key could not be destroyed yet',
        { fix: 'make room on the disk; it is tried again by itself, and ask again to be sure' },
      );
    }
  }

  private preview(workspace: string, key: string, grounds: Grounds): Promise<Erasure> {
    return this.models.read((reads, at) => {
      const ids = usesOf(reads, workspace, key, 'source', SOURCES_LISTED);
      const held = holdList(reads, workspace, { key, releasedToo: false, after: 0, limit: SHOWN });
      return {
        erasure_id: erasureId(workspace, key),
        status: 'dry_run',
        key,
        ...grounds,
        touched: touchedBy(reads, workspace, key),
        source_ids: ids,
        sources: ids.slice(0, SHOWN).map((source_id) => ({
          source_id,
          title: sourceView(reads, workspace, source_id)?.title ?? '',
        })),
        decision_ids: usesOf(reads, workspace, key, 'decision', SHOWN),
        ...(held.length > 0 ? { held_by: held.map(({ matter }) => matter) } : {}),
        position: String(at),
      };
    });
  }
}

function assertErasable({ keys }: Sealing): void {
  if (keys) return;
  throw new Refusal('unavailable', 'erasure_unavailable', 'this ledger seals no texts', {
    fix: 'docs/guide/erasure.md says which ledgers can erase',
  });
}

/** Its certificate is made anew each time, and is the same until the log key rotates. */
async function erasureShown(
  models: ReadModels,
  receipts: Receipts,
  workspace: string,
  id: string,
  atLeast = 0,
): Promise<Erasure> {
  const { view, at } = await models.read(
    (reads, position) => ({ view: erasureById(reads, workspace, id), at: position }),
    atLeast,
  );
  if (!view) throw nothingOf('erasure', 'erasure_id', 'GET /v1/erasures lists them');
  const certificate = await certified(receipts, workspace, view);
  return {
    ...shown(view),
    ...(certificate === undefined ? {} : { certificate }),
    position: String(at),
  };
}

/** Undefined where this server signs no log. */
async function certified(
  receipts: Receipts,
  workspace: string,
  view: ErasureView,
): Promise<NonNullable<Erasure['certificate']> | undefined> {
  const { id, key, reason, reference, touched, sources } = view;
  try {
    return await receipts.issue(workspace, view.position, {
      kind: 'erasure',
      erasure: {
        id,
        key,
        reason,
        ...(reference === undefined ? {} : { reference }),
        touched,
        source_ids: sources,
      },
      approvers: [
        ...new Set([...(view.requestedBy === undefined ? [] : [view.requestedBy]), view.by]),
      ],
    });
  } catch (error) {
    if (error instanceof Refusal && error.error === 'no_log_key') return undefined;
    throw error;
  }
}

function shown(view: ErasureView): Omit<Erasure, 'position'> {
  return {
    erasure_id: view.id,
    status: 'erased',
    key: view.key,
    reason: view.reason,
    ...(view.reference === undefined ? {} : { reference: view.reference }),
    touched: view.touched,
    source_ids: view.sources,
    ...(view.requestedBy === undefined ? {} : { requested_by: view.requestedBy }),
    erased_by: view.by,
    erased_at: view.at,
    event_position: String(view.position),
  };
}

@QueryHandler(GetErasure)
export class GetErasureHandler implements IQueryHandler<GetErasure> {
  constructor(
    private readonly models: ReadModels,
    @Inject(RECEIPTS) private readonly receipts: Receipts,
  ) {}

  execute({ caller, input }: GetErasure): Promise<Erasure> {
    assertAdministers(caller);
    const { erasure_id, at_least = '0' } = input;
    const { workspace } = caller;
    return erasureShown(this.models, this.receipts, workspace, erasure_id, Number(at_least));
  }
}

@QueryHandler(ListErasures)
export class ListErasuresHandler implements IQueryHandler<ListErasures> {
  constructor(private readonly models: ReadModels) {}

  execute({ caller, input }: ListErasures): Promise<Erasures> {
    assertAdministers(caller);
    const { workspace } = caller;
    const key = input.subject === undefined ? undefined : subjectKey(workspace, input.subject);
    return page(this.models, input, (reads, after, limit, at) =>
      erasureList(reads, workspace, { key, after, limit }).map((view) => ({
        at: view.position,
        item: { ...shown(view), position: at },
      })),
    );
  }
}
