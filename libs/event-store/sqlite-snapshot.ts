import { backup, type DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { Position } from './event-store.js';
import {
  LedgerDamage,
  type LedgerSource,
  type StoredBlob,
  type StoredEvent,
} from './ledger-check.js';
import { pragma, sqliteCode } from './sqlite-file.js';

const PAGE_EVENTS = 512;
const PAGE_BLOBS = 64;
/** Pages of the file between two turns of the event loop. */
const COPY_PAGES = 512;
/** A page ends early when it holds this much. */
const PAGE_BYTES = 4_000_000;

export interface CopyOptions {
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

/** One moment of a ledger, whatever is written meanwhile. The write-ahead log of a live ledger grows while it is open. */
export class SqliteSnapshot implements LedgerSource {
  readonly #sql;

  constructor(private readonly db: DatabaseSync) {
    this.#sql = {
      // Bytes, because a text that is no UTF-8 would be mended while it is read.
      log: db.prepare(
        'SELECT position, (SELECT name FROM stream WHERE id = event.stream) AS stream, revision, ' +
          'CAST(header AS BLOB) AS header, CAST(payload AS BLOB) AS payload ' +
          'FROM event WHERE position > ? ORDER BY position LIMIT ?',
      ),
      locate: db.prepare(
        'SELECT position FROM event WHERE stream = (SELECT id FROM stream WHERE name = ?) AND revision = ?',
      ),
      blobs: db.prepare('SELECT hash, bytes FROM blob WHERE hash > ? ORDER BY hash LIMIT ?'),
      count: db.prepare('SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM blob) AS n'),
    };
    // The first read of a transaction chooses the moment; all later ones see the same.
    if (!db.isTransaction) db.exec('BEGIN');
    pragma(db, 'user_version');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  }

  get layout(): number {
    return Number(pragma(this.db, 'user_version'));
  }

  /** Events and blobs; 0 where damage keeps them from being counted. */
  get size(): number {
    try {
      return Number(this.#sql.count.get()?.['n']);
    } catch (error) {
      if (meansDamage(error)) return 0;
      throw error;
    }
  }

  async *log(): AsyncGenerator<readonly StoredEvent[]> {
    let at = Number.MIN_SAFE_INTEGER;
    for (;;) {
      const page = reading(`position ${Math.max(at, 0) + 1}`, () =>
        pageOf(this.#sql.log.iterate(at, PAGE_EVENTS), storedEvent, ({ payload }) => payload),
      );
      const last = page.at(-1);
      if (!last) return;
      at = last.position;
      yield page;
      await setImmediate();
    }
  }

  locate(stream: string, revision: number): Promise<Position | undefined> {
    const row = this.#sql.locate.get(stream, revision);
    return Promise.resolve(row && Number(row['position']));
  }

  async *blobs(): AsyncGenerator<readonly StoredBlob[]> {
    let after = '';
    for (;;) {
      const page = reading(after === '' ? 'the first blob' : `the blob after ${after}`, () =>
        pageOf(this.#sql.blobs.iterate(after, PAGE_BLOBS), storedBlob, ({ bytes }) => bytes),
      );
      const last = page.at(-1);
      if (!last) return;
      after = last.hash;
      yield page;
      await setImmediate();
    }
  }

  /** Writes this moment into `path`, an empty file, page by page. Not yet synced. */
  async copyTo(path: string, { signal, onProgress }: CopyOptions): Promise<void> {
    signal.throwIfAborted();
    const pages = await backup(this.db, path, {
      rate: COPY_PAGES,
      progress: ({ totalPages, remainingPages }) => {
        // Thrown from here, it ends the copy.
        signal.throwIfAborted();
        onProgress(totalPages - remainingPages, totalPages);
      },
    });
    onProgress(pages, pages);
  }

  close(): void {
    if (this.db.isOpen) this.db.close();
  }
}

function pageOf<T>(
  rows: Iterable<Record<string, unknown>>,
  toItem: (row: Record<string, unknown>) => T,
  bytesOf: (item: T) => Uint8Array,
): T[] {
  const page: T[] = [];
  let bytes = 0;
  try {
    for (const row of rows) {
      const item = toItem(row);
      page.push(item);
      bytes += bytesOf(item).length;
      if (bytes >= PAGE_BYTES) break;
    }
  } catch (error) {
    // What was read before the damage is handed on; the next page then begins with it.
    if (page.length === 0 || !meansDamage(error)) throw error;
  }
  return page;
}

const NOTHING = new Uint8Array();

function storedEvent(row: Record<string, unknown>): StoredEvent {
  return {
    position: Number(row['position']),
    stream: String(row['stream']),
    revision: Number(row['revision']),
    header: (row['header'] ?? NOTHING) as Uint8Array,
    payload: (row['payload'] ?? NOTHING) as Uint8Array,
  };
}

function storedBlob(row: Record<string, unknown>): StoredBlob {
  const bytes = row['bytes'];
  return { hash: String(row['hash']), bytes: bytes instanceof Uint8Array ? bytes : NOTHING };
}

function reading<T>(at: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!meansDamage(error)) throw error;
    const found = (error as Error).message;
    throw new LedgerDamage({ at, what: 'reading', expected: 'readable', found }, { cause: error });
  }
}

const SQLITE_ERROR = 1;
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const DAMAGE = [SQLITE_ERROR, SQLITE_READONLY, SQLITE_CORRUPT];

/** Of a file that could be opened, these complaints tell of what is in it: a statement that fits no table, an integer beyond all positions. */
export function meansDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code !== undefined) return DAMAGE.includes(code);
  return (error as { code?: unknown } | null)?.code === 'ERR_OUT_OF_RANGE';
}
