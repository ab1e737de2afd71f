import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { createHash, hash } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import type { Position } from '#event-store/event-store.js';
import { Recent } from '#kernel/recent.js';
import { WITHOUT_KEYS, type Opener } from '#kernel/sealing.js';

export type Row = Record<string, null | number | string>;
export type Param = null | number | string;

/** What a query function may do: read. Rows are plain objects, integers are numbers. */
export interface Reads {
  get(sql: string, ...params: readonly Param[]): Row | undefined;
  all(sql: string, ...params: readonly Param[]): Row[];
  /**
   * What `compute` reads of the tables of `model`, asked once for as long as no event changes that read model and `serves` holds of it.
   * Nobody may change it. Outside of `ReadModels` it is computed each time.
   */
  memo<T>(model: Named, key: string, compute: () => T, serves?: (value: T) => boolean): T;
  /** Runs `work` and says with which keys the texts that it reads are sealed, sorted. */
  collecting<T>(work: () => T): { result: T; keys: string[] };
}

/** What a projection may do to its own tables. */
export interface Writes extends Reads {
  run(sql: string, ...params: readonly Param[]): void;
}

/** A read model. */
export interface Named {
  name: string;
}

/** What the read models are known to have seen when something is read. */
export interface Moment {
  /** Everything up to here is in what is read now. */
  at: Position;
  /** The last event that changed a read model; Infinity where that is not known. */
  changed: (model: Named) => Position;
}

interface Remembered {
  value: unknown;
  /** When it was read. */
  moment: Moment;
  /** Keys that opened what it was made of. */
  keys: readonly string[];
}

/** Remembered of each read model, twice as many at most. */
const REMEMBERED = 250;

/** SQLite's BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL and CANTOPEN. */
const STORAGE = new Set([5, 6, 7, 8, 10, 13, 14]);

/** SQLite's CORRUPT and NOTADB. */
const DAMAGED = new Set([11, 26]);

/** True for a failure of the disk or of the system, which may pass; false for one that the same statement would meet again. */
export function isStorageFailure(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' && STORAGE.has(code & 0xff);
}

/** True for a file that is no database, or a damaged one. */
export function isDamaged(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' && DAMAGED.has(code & 0xff);
}

/** Renames it to `<path>.damaged`, for whoever wants to know what became of it; what belongs to it goes. */
export function setAside(path: string): void {
  renameSync(path, `${path}.damaged`);
  for (const part of ['-journal', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}

/**
 * The disposable database of read models. One writer (the follower), any number of readers.
 * It may be deleted at any time while the process is down: the log rebuilds it. Hence `synchronous=NORMAL`: a power cut may take
 * the last transactions, whole, and the checkpoint with them.
 */
export class ReadDatabase implements Writes {
  private readonly statements = new Map<string, StatementSync>();
  private readonly memory = new Map<string, Recent<Remembered>>();
  private moment: Moment | undefined;

  private constructor(
    private readonly db: DatabaseSync,
    /** Absent for who writes: stored texts stay as they are. */
    private readonly opener?: Opener,
  ) {}

  static openForWriting(path: string): ReadDatabase {
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=5000;');
    db.exec('PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=16000;');
    return new ReadDatabase(db);
  }

  /** The same; a damaged file is set aside as `<path>.damaged` and begun anew. */
  static openOrReplace(path: string): ReadDatabase {
    try {
      return ReadDatabase.openForWriting(path);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      setAside(path);
      return ReadDatabase.openForWriting(path);
    }
  }

  /** For a file that nobody keeps unless it was finished: a crash may leave anything in it. */
  static openDraft(path: string): ReadDatabase {
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;');
    db.exec('PRAGMA cache_size=-131072; PRAGMA temp_store=MEMORY;');
    return new ReadDatabase(db);
  }

  /** The file must exist: the follower creates it first. Sealed texts are shown as `opener` opens them; without one as sealed. */
  static openForReading(path: string, opener: Opener = WITHOUT_KEYS): ReadDatabase {
    const db = new DatabaseSync(path, { readOnly: true });
    db.exec('PRAGMA query_only=ON; PRAGMA busy_timeout=5000; PRAGMA cache_size=-65536;');
    return new ReadDatabase(db, opener);
  }

  get(sql: string, ...params: readonly Param[]): Row | undefined {
    const row = this.prepare(sql).get(...(params as SQLInputValue[])) as Row | undefined;
    return row && this.opened(row);
  }

  all(sql: string, ...params: readonly Param[]): Row[] {
    const rows = this.prepare(sql).all(...(params as SQLInputValue[])) as Row[];
    if (this.opener) rows.forEach((row) => this.opened(row));
    return rows;
  }

  private opened(row: Row): Row {
    const { opener } = this;
    if (!opener) return row;
    for (const column in row) {
      const value = row[column];
      if (typeof value === 'string') row[column] = opener.column(value);
    }
    return row;
  }

  /** A stored JSON text as this database shows the texts of its rows. */
  shown(json: string): string {
    return (this.opener ?? WITHOUT_KEYS).json(json);
  }

  run(sql: string, ...params: readonly Param[]): void {
    this.prepare(sql).run(...(params as SQLInputValue[]));
  }

  exec(sql: string): void {
    this.db.exec(sql);
  }

  /** From here to `end`, everything that is read comes from one moment of the read models: that of the first read. */
  begin(): void {
    this.run('BEGIN');
  }

  /** Does nothing where the moment is over: SQLite ends it by itself after some failures, and closing does. */
  end(): void {
    if (this.db.isOpen && this.db.isTransaction) this.run('COMMIT');
  }

  /** Runs `work` with a memory for what it asks of `memo`. */
  remembering<T>(moment: Moment, work: () => T): T {
    this.moment = moment;
    try {
      return work();
    } finally {
      this.moment = undefined;
    }
  }

  memo<T>(model: Named, key: string, compute: () => T, serves?: (value: T) => boolean): T {
    const { moment, opener } = this;
    if (!moment || !opener) return compute();
    const memory = this.memory.get(model.name) ?? new Recent<Remembered>(REMEMBERED);
    const known = memory.get(key);
    const isCurrent =
      known && (known.moment === moment || moment.changed(model) <= known.moment.at);
    if (isCurrent && serves?.(known.value as T) !== false) {
      opener.used(known.keys);
      return known.value as T;
    }
    const { result: value, keys } = opener.collecting(compute);
    memory.set(key, { value, moment, keys });
    this.memory.set(model.name, memory);
    return value;
  }

  collecting<T>(work: () => T): { result: T; keys: string[] } {
    return (this.opener ?? WITHOUT_KEYS).collecting(work);
  }

  /** Drops what `memo` remembers: keys were destroyed. */
  forget(): void {
    this.memory.clear();
  }

  /** All of `work` or nothing of it. */
  transaction(work: () => void): void {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.db.exec('COMMIT');
    } catch (error) {
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      throw error;
    }
  }

  /** SHA-256 over all rows of the named tables in key order, as they are stored: equal for equal read models, on any machine. */
  digest(tables: readonly string[]): string {
    const parts = [...tables].sort().map((table) => {
      const columns = this.all(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`);
      const order = columns.map((c) => `"${c['name'] as string}"`).join(', ');
      const rows = this.prepare(`SELECT * FROM "${table}" ORDER BY ${order}`).all();
      return `${table}\n${rows.map((row) => JSON.stringify(Object.values(row))).join('\n')}`;
    });
    return hash('sha256', parts.join('\n\n'), 'hex');
  }

  /** SHA-256 over the rows of one table in the order of its key, a row at a time: each as a JSON array and a line feed. */
  tableDigest(table: string): { rows: number; sha256: string } {
    const key = this.all(`SELECT name FROM pragma_table_info('${table}') ORDER BY pk = 0, pk, cid`);
    const order = key.map((c) => `"${c['name'] as string}"`).join(', ');
    const digest = createHash('sha256');
    let rows = 0;
    for (const row of this.db.prepare(`SELECT * FROM "${table}" ORDER BY ${order}`).iterate()) {
      digest.update(`${JSON.stringify(Object.values(row))}\n`);
      rows += 1;
    }
    return { rows, sha256: digest.digest('hex') };
  }

  /** Columns of a table, those of its key first; and its rows as they are stored, in the order of its key, one at a time. */
  stored(table: string): { columns: string[]; rows: Iterable<readonly unknown[], undefined> } {
    const order = this.all(
      `SELECT name FROM pragma_table_info('${table}') ORDER BY pk = 0, pk, cid`,
    );
    const columns = order.map((c) => c['name'] as string);
    const list = columns.map((name) => `"${name}"`).join(', ');
    return { columns, rows: this.iterate(`SELECT ${list} FROM "${table}" ORDER BY ${list}`) };
  }

  private *iterate(sql: string): Generator<readonly unknown[], undefined> {
    for (const row of this.db.prepare(sql).iterate()) yield Object.values(row);
    return undefined;
  }

  close(): void {
    this.statements.clear();
    this.db.close();
  }

  private prepare(sql: string): StatementSync {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}
