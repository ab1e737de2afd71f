import type { EventStore, FollowOptions, Position } from '#event-store/event-store.js';
import { Follower, type FollowerStatus } from '#projections/follower.js';
import type { Projection } from '#projections/projection.js';
import type { ReadDatabase } from '#projections/read-database.js';

export interface RebuildUpTo {
  store: Pick<EventStore, 'follow'>;
  /** The last position that is read. */
  goal: Position;
  /** Nobody else's. Read models that stand in it already go on from there. */
  db: ReadDatabase;
  projections: readonly Projection[];
  onProgress: (position: Position) => void;
  signal: AbortSignal;
}

/** Brings read models to a position and not beyond, as if the log ended there. */
export async function rebuildUpTo(rebuild: RebuildUpTo): Promise<readonly FollowerStatus[]> {
  const { store, goal, db, projections, onProgress, signal } = rebuild;
  const log = {
    async *follow(after: Position, options: FollowOptions) {
      for await (const batch of store.follow(after, options)) {
        const wanted = batch.filter(({ position }) => position <= goal);
        if (wanted.length > 0) yield wanted;
        if (wanted.length < batch.length || batch.at(-1)?.position === goal) return;
      }
    },
  };
  const follower = new Follower(log, db, projections, onProgress);
  const stop = (): void => void follower.close();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    await follower.catchUp();
    signal.throwIfAborted();
    return follower.statuses;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
