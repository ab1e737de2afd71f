import { closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { LedgerDamage } from './ledger-check.js';
import type { HeaderFacts } from './header-facts.js';
import { layOut, sqliteCode } from './sqlite-file.js';
import { sync } from './sync.js';

const SQLITE_CONSTRAINT = 19;
/** Events and blobs in one transaction. */
const BATCH = 4_096;

/** A ledger file in the making. Nobody reads it before it is finished, so it needs neither journal nor syncs until then. */
export class LedgerDraft {
  readonly #sql;
  readonly #streams = new Map<string, number>();
  #uncommitted = 0;

  private constructor(
    private readonly path: string,
    private readonly db: DatabaseSync,
  ) {
    this.#sql = {
      streamOf: db.prepare('SELECT id FROM stream WHERE name = ?'),
      addStream: db.prepare('INSERT INTO stream (name) VALUES (?) RETURNING id'),
      addEvent: db.prepare(
        'INSERT INTO event (position, stream, revision, header, payload) VALUES (?, ?, ?, ?, ?)',
      ),
      addBlob: db.prepare('INSERT OR IGNORE INTO blob (hash, bytes) VALUES (?, ?)'),
    };
  }

  /** `path` is new, or what an earlier attempt left. */
  static create(path: string): LedgerDraft {
    remove(path);
    closeSync(openSync(path, 'wx', 0o600));
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;');
    db.exec('PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;');
    layOut(db);
    return new LedgerDraft(path, db);
  }

  /** Throws `LedgerDamage` where the position or the revision of the stream is taken. Nothing else is checked here. */
  add(position: number, facts: HeaderFacts, header: string, payload: string): void {
    this.#begin();
    try {
      const stream = this.#streamId(facts.stream);
      this.#sql.addEvent.run(position, stream, facts.revision, header, payload);
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_CONSTRAINT) throw error;
      throw new LedgerDamage(
        {
          at: `position ${position}`,
          what: `revision ${facts.revision} of ${facts.stream}`,
          expected: 'once',
          found: 'a second time',
          first: position,
          last: position,
        },
        { cause: error },
      );
    }
  }

  addBlob(hash: string, bytes: Uint8Array): void {
    this.#begin();
    this.#sql.addBlob.run(hash, bytes);
  }

  /** Afterwards it is one file on the disk, which an engine or a check may open. */
  finish(): void {
    this.#commit();
    this.db.exec('PRAGMA journal_mode=DELETE');
    this.db.close();
    sync(this.path);
  }

  /** Nothing is left of it, finished or not. */
  discard(): void {
    if (this.db.isOpen) this.db.close();
    remove(this.path);
  }

  #streamId(name: string): number {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    const row = this.#sql.streamOf.get(name) ?? this.#sql.addStream.get(name);
    const id = Number(row?.['id']);
    if (this.#streams.size >= STREAMS_KNOWN) this.#streams.clear();
    this.#streams.set(name, id);
    return id;
  }

  #begin(): void {
    if (this.#uncommitted++ === 0) this.db.exec('BEGIN');
    else if (this.#uncommitted >= BATCH) {
      this.#commit();
      this.#begin();
    }
  }

  #commit(): void {
    if (this.db.isTransaction) this.db.exec('COMMIT');
    this.#uncommitted = 0;
  }
}

/** Ids of streams that are kept in memory. */
const STREAMS_KNOWN = 50_000;

function remove(path: string): void {
  for (const part of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}
