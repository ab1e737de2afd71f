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
import { ReadModels } from '#projections/read-models.js';
import { CLOCK, RECEIPTS } from '#projections/tokens.js';
import type { Receipts } from '#transparency/receipts-port.js';
import type { Erasure, Erasures } from './contract-erasure.js';
import { erasureId, SOURCES_LISTED, type Grounds } from './domain/subject.js';
import { destroyKeys } from './reactions/erasure.js';
import { assertGone, homeOf, type Target } from './handlers-principals.js';
import { listedOf, nothingOf, page, SubjectHandler } from './handlers-subjects.js';
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
    const target = await this.targetOf(caller, input);
    assertErasable(this.sealing);
    const { workspace, key } = target;
    const erasure = erasureId(workspace, key);
    const before = await this.models.read((reads) => erasureById(reads, workspace, erasure));
    let keys = before?.keys;
    if (!before) {
      const grounds: Grounds = {
        reason: input.reason,
        ...(input.reference === undefined ? {} : { reference: input.reference }),
      };
      const preview = await this.preview(target, grounds);
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
          ...(target.principal ? { whose: { of: 'principal', also: wordsOf(target) } } : {}),
          by: caller.principal,
          fourEyes: caller.fourEyes,
          nowMs: this.clock(),
        },
        { ...originOf(caller, randomUUID()), workspace },
      );
      if (!state.erased)
        return {
          ...preview,
          status: 'awaiting_second',
          ...(state.request ? { requested_by: state.request.by } : {}),
          position: String(this.streams.acknowledged),
        };
      keys = state.erased.keys;
    }
    await this.destroyed(keys ?? []);
    return erasureShown(this.models, this.receipts, workspace, erasure);
  }

  /** Recorded and not destroyed yet, it is tried again until there is room, here and at the next start. */
  private async destroyed(keys: readonly string[]): Promise<void> {
    try {
      await destroyKeys(this.sealing, keys);
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

  private preview({ workspace, key, uses, principal }: Target, grounds: Grounds): Promise<Erasure> {
    if (principal) assertGone(principal);
    return this.models.read((reads, at) => {
      const touched = touchedBy(reads, uses);
      if (principal && Object.values(touched).every((n) => n === 0)) throw notSealed();
      const ids = usesOf(reads, workspace, key, 'source', SOURCES_LISTED);
      const held = holdList(reads, workspace, { key, releasedToo: false, after: 0, limit: SHOWN });
      return {
        erasure_id: erasureId(workspace, key),
        status: 'dry_run',
        key,
        ...grounds,
        touched,
        source_ids: ids,
        sources: ids.slice(0, SHOWN).map((source_id) => ({
          source_id,
          title: sourceView(reads, workspace, source_id)?.title ?? '',
        })),
        decision_ids: usesOf(reads, workspace, key, 'decision', SHOWN),
        ...(principal
          ? { of: 'principal', name: principal.name, name_remains: !principal.sealed }
          : {}),
        ...(held.length > 0 ? { held_by: held.map(({ matter }) => matter) } : {}),
        position: String(at),
      };
    });
  }
}

/** Keys of a principal's own words. */
const wordsOf = ({ key, uses }: Target): string[] =>
  uses.map(([, word]) => word).filter((word) => word !== key);

function notSealed(): Refusal {
  return new Refusal('conflict', 'not_sealed', 'nothing of the principal was recorded with a key', {
    path: 'principal',
    issues: [{ path: 'principal', problem: 'acted before names and remarks were sealed' }],
    fix: 'see "Older ledgers" in docs/guide/erasure.md',
  });
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
    ...(view.of === undefined ? {} : { of: view.of }),
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

  async execute({ caller, input }: GetErasure): Promise<Erasure> {
    const { erasure_id, at_least = '0' } = input;
    const workspace = await this.models.read((reads) => {
      const home = homeOf(reads, caller);
      if (home !== undefined && erasureById(reads, home, erasure_id)?.of) return home;
      assertAdministers(caller);
      return caller.workspace;
    }, Number(at_least));
    return erasureShown(this.models, this.receipts, workspace, erasure_id, Number(at_least));
  }
}

@QueryHandler(ListErasures)
export class ListErasuresHandler implements IQueryHandler<ListErasures> {
  constructor(private readonly models: ReadModels) {}

  async execute({ caller, input }: ListErasures): Promise<Erasures> {
    const { workspace, key } = await this.models.read((reads) => listedOf(reads, caller, input));
    return page(this.models, input, (reads, after, limit, at) =>
      erasureList(reads, workspace, { key, after, limit }).map((view) => ({
        at: view.position,
        item: { ...shown(view), position: at },
      })),
    );
  }
}
