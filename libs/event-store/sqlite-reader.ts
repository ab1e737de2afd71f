import type { DatabaseSync } from 'node:sqlite';
import type { BlobStore, EventStore, FollowOptions, Position } from './event-store.js';
import type { RecordedEvent } from './event-store.js';
import { followLog, readPages, Wakeup, type StreamPage } from './following.js';
import { recordedEvent } from './header.js';
import { openForReading } from './sqlite-file.js';

export type ReadOnlyStore = Pick<EventStore, 'readStream' | 'follow' | 'end' | 'close'> &
  Pick<BlobStore, 'getBlob'>;

const STREAM_PAGE = 512;
/** A page ends early when it holds this much, so that large events do not fill memory. */
const PAGE_CHARS = 4_000_000;
const POLL_MS = 200;

type Statements = ReturnType<typeof statements>;

function statements(db: DatabaseSync) {
  return {
    end: db.prepare('SELECT coalesce(max(position), 0) AS n FROM event'),
    log: db.prepare(
      'SELECT position, header, payload FROM event WHERE position > ? ORDER BY position LIMIT ?',
    ),
    stream: db.prepare(
      'SELECT position, header, payload FROM event ' +
        'WHERE stream = (SELECT id FROM stream WHERE name = ?) AND revision >= ? ' +
        // Bound, the limit would have SQLite plan the query anew each time.
        `ORDER BY revision LIMIT ${STREAM_PAGE}`,
    ),
    blob: db.prepare('SELECT bytes FROM blob WHERE hash = ?'),
    begin: db.prepare('BEGIN'),
    commit: db.prepare('COMMIT'),
  };
}

/** Reads an embedded ledger in any thread or process, while another one writes it. What it shows is durable. */
export class SqliteReader implements ReadOnlyStore {
  readonly #wakeup = new Wakeup();
  // Kept for as long as its statements: a collected database object closes under them.
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  #snapshot: NodeJS.Immediate | undefined;

  /** With `pollMs` a live follower looks for commits that often; without, somebody calls `wake`. */
  constructor(
    dir: string,
    private readonly pollMs: number | undefined,
  ) {
    const db = openForReading(dir);
    this.#db = db;
    this.#sql = statements(db);
  }

  readStream(stream: string, fromRevision = 0): AsyncIterable<readonly RecordedEvent[]> {
    return readPages(fromRevision, (from) =>
      toPage(this.#statements().stream.iterate(stream, from), STREAM_PAGE),
    );
  }

  follow(after: Position, options: FollowOptions): AsyncIterable<readonly RecordedEvent[]> {
    const reader = {
      end: () => this.#end(),
      page: (from: Position, limit: number) =>
        toPage(this.#statements().log.iterate(from, limit), limit).events,
    };
    return followLog(reader, this.#wakeup, after, options, this.pollMs);
  }

  end(): Promise<Position> {
    return Promise.resolve(this.#end());
  }

  #end(): Position {
    return Number(this.#statements().end.get()?.['n']);
  }

  getBlob(hash: string): Promise<Uint8Array | undefined> {
    const row = this.#statements().blob.get(hash);
    return Promise.resolve(row?.['bytes'] as Uint8Array | undefined);
  }

  /**
   * Reads of one turn of the event loop share a snapshot: for each new one SQLite forgets its pages where the log has grown.
   * `refresh` ends it before anybody learns of a commit, so no read misses what was acknowledged before.
   */
  #statements(): Statements {
    if (!this.#snapshot) {
      this.#sql.begin.run();
      this.#snapshot = setImmediate(() => {
        this.refresh();
      });
    }
    return this.#sql;
  }

  /** Later reads see what was committed until now. */
  refresh(): void {
    if (!this.#snapshot) return;
    clearImmediate(this.#snapshot);
    this.#snapshot = undefined;
    this.#sql.commit.run();
  }

  /** Tells followers that something was committed. Costs nothing when nobody waits. */
  wake(): void {
    this.refresh();
    this.#wakeup.wake();
  }

  /** Ends every follower. */
  close(): Promise<void> {
    if (!this.#wakeup.closed) {
      this.#wakeup.close();
      this.refresh();
      this.#db.close();
    }
    return Promise.resolve();
  }
}

function toPage(rows: Iterable<Record<string, unknown>>, limit: number): StreamPage {
  const events: RecordedEvent[] = [];
  let chars = 0;
  for (const row of rows) {
    const payload = row['payload'] as string;
    events.push(recordedEvent(row['position'] as number, row['header'] as string, payload));
    chars += payload.length;
    if (chars >= PAGE_CHARS) return { events, whole: false };
  }
  return { events, whole: events.length < limit };
}

/**
 * Opens the ledger in `dir` for reading, without its lock: for the projector's thread and for the CLI.
 * Refuses `no_ledger`, `not_a_ledger` and `newer_ledger`.
 */
export function openSqliteReader(dir: string): SqliteReader {
  return new SqliteReader(dir, POLL_MS);
}
