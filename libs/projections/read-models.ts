import type { Position } from '#event-store/event-store.js';
import type { Streams } from '#event-store/streams.js';
import type { Projector } from './projector.js';
import type { Moment, ReadDatabase, Reads } from './read-database.js';

/** What the read models showed when the snapshot that is open began. */
interface Snapshot {
  /** All read models have seen everything up to here. */
  at: Position;
  moment: Moment;
  /** Where the projector was said to be. */
  told: Position;
  ends: NodeJS.Immediate;
}

/** The one way to read: first waits for what the caller must see, then answers from one moment of all read models. */
export class ReadModels {
  private snapshot: Snapshot | undefined;

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
    return this.inSnapshot(query);
  }

  /** What has been read stays true until this moves; it has moved once a write is `settled`. */
  get position(): Position {
    return this.projector.position;
  }

  /** Answers from the read models as they stand, waiting for nothing. For credentials: their commands wait until they are `settled`. */
  now<T>(query: (reads: Reads) => T): T {
    return this.inSnapshot(query);
  }

  /** Resolves once the read models have seen every write that this process acknowledged, and everything up to `position`. */
  async settled(position: Position = 0): Promise<void> {
    await this.projector.reach(Math.max(this.streams.acknowledged, position));
  }

  /**
   * Reads of one turn of the event loop share a snapshot, since opening one costs more than most queries; not beyond the turn, because
   * an open one keeps SQLite from emptying the write-ahead log. Once the projector tells of more, the next read sees that.
   */
  private inSnapshot<T>(query: (reads: Reads, position: Position) => T): T {
    if (this.snapshot && this.snapshot.told !== this.projector.position) this.endSnapshot();
    this.snapshot ??= this.newSnapshot();
    const { at, moment } = this.snapshot;
    return this.db.remembering(moment, () => query(this.db, at));
  }

  private newSnapshot(): Snapshot {
    this.db.begin();
    const { at, last } = this.standing();
    const ends = setImmediate(() => {
      this.endSnapshot();
    });
    const { position: told } = this.projector;
    return { at, told, ends, moment: { at, changed: this.changesSeen(last) } };
  }

  private standing(): { at: Position; last: Position } {
    try {
      const row = this.db.get('SELECT min(position) AS at, max(position) AS last FROM checkpoint');
      return { at: (row?.['at'] ?? 0) as Position, last: (row?.['last'] ?? 0) as Position };
    } catch (error) {
      this.db.end();
      throw error;
    }
  }

  /** What nobody has told of yet may have changed any of them. */
  private changesSeen(last: Position): Moment['changed'] {
    const { position, statuses } = this.projector;
    if (last > position) return () => Infinity;
    return ({ name }) => statuses.find((status) => status.name === name)?.changed ?? Infinity;
  }

  private endSnapshot(): void {
    if (!this.snapshot) return;
    clearImmediate(this.snapshot.ends);
    this.snapshot = undefined;
    this.db.end();
  }
}
