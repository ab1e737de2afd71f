import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventStore } from '#event-store/event-store.js';
import type { Caller } from '#kernel/context.js';
import { invalid, Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { LOG } from '#projections/tokens.js';
import { toBase64 } from '#transparency/base64.js';
import { consistencyProof, rootOf } from '#transparency/merkle.js';
import {
  encodeEntries,
  encodeTile,
  parseTilePath,
  tileWidth,
  TILE_HEIGHT,
  TILE_WIDTH,
  type TileAddress,
} from '#transparency/tile.js';
import { formatTlogProof } from '#transparency/tlog-proof.js';
import type { Consistency, Inclusion } from './contract-log.js';
import { assertAudits } from './handlers.js';
import { LogEvents } from './signing/log-events.js';
import { LogService } from './signing/log-service.js';
import { GetCheckpoint, GetTile, ProveConsistency, ProveInclusion } from './messages.js';
import { originOfLog } from './domain/origin.js';
import { lastCheckpoint } from './projections/checkpoints.js';
import { kept, sizeOf, treeOf } from './projections/log-tree.js';
import { indexOf } from './signing/receipts.js';

@QueryHandler(GetCheckpoint)
export class GetCheckpointHandler implements IQueryHandler<GetCheckpoint> {
  constructor(
    private readonly models: ReadModels,
    private readonly log: LogService,
  ) {}

  /** The first one is signed for whoever asks first. */
  async execute({ caller: { workspace }, input }: GetCheckpoint): Promise<string> {
    const atLeast = Number(input.at_least ?? 0);
    const last = await this.models.read((reads) => lastCheckpoint(reads, workspace), atLeast);
    return last?.note ?? (await this.log.prove(workspace, 0)).checkpoint.note;
  }
}

@QueryHandler(GetTile)
export class GetTileHandler implements IQueryHandler<GetTile> {
  constructor(
    private readonly models: ReadModels,
    private readonly events: LogEvents,
  ) {}

  async execute({ caller, path }: GetTile): Promise<Uint8Array> {
    const tile = parseTilePath(path);
    if (!tile)
      throw invalid(
        'path',
        'names no tile',
        'spell it as C2SP tlog-tiles does: tile/0/x001/234.p/56',
      );
    const { level, index, width } = tile;
    if (level === 'entries') return this.entries(caller, tile);
    const hashes = await this.models.read((reads) => {
      assertThere(tile, sizeOf(reads, caller.workspace).size);
      return kept(reads, caller.workspace, level * TILE_HEIGHT, index * TILE_WIDTH, width);
    });
    return encodeTile(hashes);
  }

  /** Headers name streams, people and keys: for whom the log is. */
  private async entries(caller: Caller, tile: TileAddress): Promise<Uint8Array> {
    assertAudits(caller);
    const { workspace } = caller;
    const { size } = await this.models.read((reads) => sizeOf(reads, workspace));
    assertThere(tile, size);
    const events = await this.events.from(workspace, tile.index * TILE_WIDTH, tile.width);
    return encodeEntries(events.map(({ header }) => header));
  }
}

/** Narrower tiles than there are now stay there: an older checkpoint needs them. */
function assertThere({ level, index, width }: TileAddress, size: number): void {
  const widest = tileWidth(level, index, size);
  if (width <= widest) return;
  throw new Refusal('not_found', 'not_found', 'the log does not go as far as this tile', {
    path: 'path',
    issues: [{ path: 'path', problem: `the tile holds ${widest} of ${width}` }],
    fix: 'ask for the tiles of a checkpoint that the log has signed',
  });
}

@QueryHandler(ProveInclusion)
export class ProveInclusionHandler implements IQueryHandler<ProveInclusion> {
  constructor(
    private readonly models: ReadModels,
    private readonly log: LogService,
    @Inject(LOG) private readonly store: EventStore,
  ) {}

  async execute({ caller, input }: ProveInclusion): Promise<Inclusion> {
    const { workspace } = caller;
    const position = Number(input.position);
    // Nobody waits for a position that the log does not have.
    const end = await this.store.end();
    const found = await indexOf(this.models, workspace, position, Math.min(position, end));
    const { index, leaf, hashes, checkpoint } = await this.log.prove(workspace, found);
    const { origin, size, root, note } = checkpoint;
    return {
      origin,
      index,
      leaf_hash: toBase64(leaf),
      hashes: hashes.map(toBase64),
      tree_size: size,
      root_hash: root,
      checkpoint: note,
      tlog_proof: formatTlogProof({ index, hashes, checkpoint: note }),
    };
  }
}

@QueryHandler(ProveConsistency)
export class ProveConsistencyHandler implements IQueryHandler<ProveConsistency> {
  constructor(
    private readonly models: ReadModels,
    private readonly log: LogService,
  ) {}

  execute({ caller: { workspace }, input }: ProveConsistency): Promise<Consistency> {
    return this.models.read((reads) => {
      const { size } = sizeOf(reads, workspace);
      const { from, to = lastCheckpoint(reads, workspace)?.size ?? size } = input;
      for (const [path, value, most] of [
        ['to', to, size],
        ['from', from, to],
      ] as const)
        if (value > most)
          throw invalid(
            path,
            `is beyond ${most}`,
            'give sizes of trees that the log has had, the older first',
          );
      const tree = treeOf(reads, workspace);
      return {
        origin: originOfLog(this.log.keys.name, workspace),
        from,
        to,
        from_root: toBase64(rootOf(from, tree)),
        to_root: toBase64(rootOf(to, tree)),
        hashes: consistencyProof(from, to, tree).map(toBase64),
      };
    });
  }
}
