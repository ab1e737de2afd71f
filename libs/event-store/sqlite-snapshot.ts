import { isUtf8 } from 'node:buffer';
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
/** Of a stream that is read ahead of the log, one for each workspace at a time. */
const PAGE_AHEAD = 32;
/** Pages of the file between two turns of the event loop. */
const COPY_PAGES = 512;
/** Streams whose names are kept. */
const NAMES = 50_000;
const NAMES_AHEAD = 128;
const EVENT =
  'position, stream, revision, header, payload, octet_length(header), octet_length(payload)';
/** A page ends early when it holds this much, in bytes or characters. */
const PAGE_BYTES = 4_000_000;

export interface CopyOptions {
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

/** One moment of a ledger, whatever is written meanwhile. The write-ahead log of a live ledger grows while it is open. */
export class SqliteSnapshot implements LedgerSource {
  readonly #sql;
  readonly #names = new Map<number, string>();

  constructor(private readonly db: DatabaseSync) {
    this.#sql = {
      log: db.prepare(`SELECT ${EVENT} FROM event WHERE position > ? ORDER BY position LIMIT ?`),
      bytes: db.prepare(
        'SELECT CAST(header AS BLOB) AS header, CAST(payload AS BLOB) AS payload FROM event WHERE position = ?',
      ),
      names: db.prepare('SELECT id, name FROM stream WHERE id >= ? ORDER BY id LIMIT ?'),
      locate: db.prepare(
        'SELECT position FROM event WHERE stream = (SELECT id FROM stream WHERE name = ?) AND revision = ?',
      ),
      stream: db.prepare(
        `SELECT ${EVENT} FROM event ` +
          'WHERE stream = (SELECT id FROM stream WHERE name = ?) AND revision >= ? ORDER BY revision LIMIT ?',
      ),
      hasBlob: db.prepare('SELECT 1 FROM blob WHERE hash = ?'),
      blob: db.prepare('SELECT bytes FROM blob WHERE hash = ?'),
      blobs: db.prepare('SELECT hash, bytes FROM blob WHERE hash > ? ORDER BY hash LIMIT ?'),
      count: db.prepare('SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM blob) AS n'),
    };
    // Arrays cost a third less than objects, and this is most of the time that a check of a long log takes.
    this.#sql.log.setReturnArrays(true);
    this.#sql.stream.setReturnArrays(true);
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

  async *log(after: Position = Number.MIN_SAFE_INTEGER): AsyncGenerator<readonly StoredEvent[]> {
    let at = after;
    for (;;) {
      const page = reading(`position ${Math.max(at, 0) + 1}`, () =>
        pageOf(this.#sql.log.iterate(at, PAGE_EVENTS), (row) => this.#event(row), sizeOfEvent),
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

  stream(name: string, fromRevision: number): Promise<readonly StoredEvent[]> {
    const page = reading(`stream ${name}`, () =>
      pageOf(
        this.#sql.stream.iterate(name, fromRevision, PAGE_AHEAD),
        (row) => this.#event(row),
        sizeOfEvent,
      ),
    );
    return Promise.resolve(page);
  }

  blob(hash: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#sql.blob.get(hash)?.['bytes'] as Uint8Array | undefined);
  }

  hasBlob(hash: string): Promise<boolean> {
    return Promise.resolve(this.#sql.hasBlob.get(hash) !== undefined);
  }

  async *blobs(): AsyncGenerator<readonly StoredBlob[]> {
    let after = '';
    for (;;) {
      const page = reading(after === '' ? 'the first blob' : `the blob after ${after}`, () =>
        pageOf(this.#sql.blobs.iterate(after, PAGE_BLOBS), storedBlob, ({ bytes }) => bytes.length),
      );
      const last = page.at(-1);
      if (!last) return;
      after = last.hash;
      yield page;
      await setImmediate();
    }
  }

  #event(row: unknown): StoredEvent {
    const [position, stream, revision, header, payload, headerBytes, payloadBytes] =
      row as readonly unknown[];
    const event = {
      position: Number(position),
      stream: this.#nameOf(Number(stream)),
      revision: Number(revision),
      header: typeof header === 'string' ? header : '',
      payload: typeof payload === 'string' ? payload : '',
    };
    const whole = isStored(event.header, headerBytes) && isStored(event.payload, payloadBytes);
    return whole ? event : this.#asBytes(event);
  }

  /** Looks at the stored bytes: a text may have been mended while it was read. */
  #asBytes(event: StoredEvent): StoredEvent {
    const row = this.#sql.bytes.get(event.position);
    for (const part of ['header', 'payload'] as const) {
      const bytes = row?.[part];
      if (!(bytes instanceof Uint8Array) || !isUtf8(bytes)) return { ...event, unreadable: part };
      event[part] = Buffer.from(bytes).toString();
    }
    return event;
  }

  #nameOf(id: number): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES) this.#names.clear();
    // Streams have their ids in the order of their first events: the next ones are asked for soon.
    for (const row of this.#sql.names.all(id, NAMES_AHEAD))
      this.#names.set(Number(row['id']), String(row['name']));
    return this.#names.get(id) ?? 'none';
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
  sizeOf: (item: T) => number,
): T[] {
  const page: T[] = [];
  let bytes = 0;
  try {
    for (const row of rows) {
      const item = toItem(row);
      page.push(item);
      bytes += sizeOf(item);
      if (bytes >= PAGE_BYTES) break;
    }
  } catch (error) {
    // What was read before the damage is handed on; the next page then begins with it.
    if (page.length === 0 || !meansDamage(error)) throw error;
  }
  return page;
}

/** What stands in a text for bytes that are no UTF-8. */
const REPLACEMENT = '\ufffd';

const NOTHING = new Uint8Array();

/** Text that was read as it is stored: nothing in it was mended, and nothing behind a NUL left out. */
function isStored(text: string, bytes: unknown): boolean {
  // A byte for each unit: ASCII, which nearly all of it is.
  if (text.length === bytes) return true;
  return Buffer.byteLength(text) === bytes && !text.includes(REPLACEMENT);
}

function sizeOfEvent({ payload }: StoredEvent): number {
  return payload.length;
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
