import type { Position } from '#event-store/event-store.js';
import type { Streams } from '#event-store/streams.js';
import type { Projector } from './projector.js';
import type { ReadDatabase, Reads } from './read-database.js';

/** The one way to read: first waits for what the caller must see, then answers from one moment of all read models. */
export class ReadModels {
  constructor(
    private readonly db: ReadDatabase,
    private readonly projector: Projector,
    private readonly streams: Streams,
  ) {}

  /**
   * Sees every write that this process acknowledged, and everything up to `atLeast` (promise P3).
   * `query` gets the position that the read models stand at.
   */
  async read<T>(query: (reads: Reads, position: Position) => T, atLeast: Position = 0): Promise<T> {
    const needed = Math.max(this.streams.acknowledged, atLeast);
    if (this.projector.position < needed) await this.projector.reach(needed);
    return this.db.snapshot((reads) => {
      const stands = reads.get(
        'SELECT min(position) AS at, sum(position) AS state FROM checkpoint',
      );
      this.db.rememberAt(String(stands?.['state']));
      return query(reads, (stands?.['at'] ?? 0) as number);
    });
  }

  /** What has been read stays true until this moves; it has moved once a write is `settled`. */
  get position(): Position {
    return this.projector.position;
  }

  /** Answers from the read models as they stand, waiting for nothing. For credentials: their commands wait until they are `settled`. */
  now<T>(query: (reads: Reads) => T): T {
    return query(this.db);
  }

  /** Resolves once the read models have seen every write that this process acknowledged, and everything up to `position`. */
  async settled(position: Position = 0): Promise<void> {
    await this.projector.reach(Math.max(this.streams.acknowledged, position));
  }
}
