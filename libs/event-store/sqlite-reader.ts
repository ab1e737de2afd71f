import type { DatabaseSync } from 'node:sqlite';
import type { BlobStore, EventStore, FollowOptions, Position } from './event-store.js';
import type { RecordedEvent } from './event-store.js';
import { followLog, readPages, Wakeup } from './following.js';
import { recordedEvent } from './header.js';
import { openForReading } from './sqlite-file.js';

export type ReadOnlyStore = Pick<EventStore, 'readStream' | 'follow' | 'end' | 'close'> &
  Pick<BlobStore, 'getBlob'>;

const STREAM_PAGE = 512;
/** A page ends early when it holds this much, so that large events do not fill memory. */
const PAGE_CHARS = 4_000_000;
const POLL_MS = 200;

/** Reads an embedded ledger in any thread or process, while another one writes it. What it shows is durable. */
export class SqliteReader implements ReadOnlyStore {
  readonly #wakeup = new Wakeup();
  // Kept for as long as its statements: a collected database object closes under them.
  readonly #db: DatabaseSync;
  readonly #sql;

  /** With `pollMs` a live follower looks for commits that often; without, somebody calls `wake`. */
  constructor(
    dir: string,
    private readonly pollMs: number | undefined,
  ) {
    const db = openForReading(dir);
    this.#db = db;
    this.#sql = {
      end: db.prepare('SELECT coalesce(max(position), 0) AS n FROM event'),
      log: db.prepare(
        'SELECT position, header, payload FROM event WHERE position > ? ORDER BY position LIMIT ?',
      ),
      stream: db.prepare(
        'SELECT position, header, payload FROM event ' +
          'WHERE stream = (SELECT id FROM stream WHERE name = ?) AND revision >= ? ORDER BY revision LIMIT ?',
      ),
      blob: db.prepare('SELECT bytes FROM blob WHERE hash = ?'),
    };
  }

  readStream(stream: string, fromRevision = 0): AsyncIterable<readonly RecordedEvent[]> {
    return readPages(fromRevision, (from) =>
      toPage(this.#sql.stream.iterate(stream, from, STREAM_PAGE)),
    );
  }

  follow(after: Position, options: FollowOptions): AsyncIterable<readonly RecordedEvent[]> {
    const reader = {
      end: () => this.#end(),
      page: (from: Position, limit: number) => toPage(this.#sql.log.iterate(from, limit)),
    };
    return followLog(reader, this.#wakeup, after, options, this.pollMs);
  }

  end(): Promise<Position> {
    return Promise.resolve(this.#end());
  }

  #end(): Position {
    return Number(this.#sql.end.get()?.['n']);
  }

  getBlob(hash: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#sql.blob.get(hash)?.['bytes'] as Uint8Array | undefined);
  }

  /** Tells that something was committed. Costs nothing when nobody waits. */
  wake(): void {
    this.#wakeup.wake();
  }

  /** Ends every follower. */
  close(): Promise<void> {
    if (!this.#wakeup.closed) {
      this.#wakeup.close();
      this.#db.close();
    }
    return Promise.resolve();
  }
}

function toPage(rows: Iterable<Record<string, unknown>>): RecordedEvent[] {
  const page: RecordedEvent[] = [];
  let chars = 0;
  for (const row of rows) {
    const payload = row['payload'] as string;
    page.push(recordedEvent(row['position'] as number, row['header'] as string, payload));
    chars += payload.length;
    if (chars >= PAGE_CHARS) break;
  }
  return page;
}

/**
 * Opens the ledger in `dir` for reading, without its lock: for the projector's thread and for the CLI.
 * Refuses `no_ledger`, `not_a_ledger` and `newer_ledger`.
 */
export function openSqliteReader(dir: string): SqliteReader {
  return new SqliteReader(dir, POLL_MS);
}
