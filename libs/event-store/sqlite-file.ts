import { accessSync, constants, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Refusal } from '#kernel/refusal.js';
import { sync } from './sync.js';

// Files of a ledger directory that this engine owns: ledger.sqlite (with -wal and -shm), lock.sqlite, lock.json.

/** Layout of `ledger.sqlite`, in `PRAGMA user_version`. Raise it with every change, and add the step to `migration.ts`. */
export const SCHEMA_VERSION = 1;
/** `PRAGMA application_id`: "PREC". */
export const APPLICATION_ID = 0x50524543;

/**
 * Streams have small integer ids because text keys in the event index cost a third of the throughput.
 * `header` and `payload` are the hashed bytes; `stream` and `revision` repeat what the header says, for the index.
 */
const SCHEMA = `
CREATE TABLE stream (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE event (
  position INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  header TEXT NOT NULL,
  payload TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_of_stream ON event (stream, revision);
CREATE TABLE blob (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
${['event', 'stream'].map((table) => refuseChange(table, 'UPDATE') + refuseChange(table, 'DELETE')).join('')}
${refuseChange('blob', 'UPDATE')}
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

function refuseChange(table: string, change: 'UPDATE' | 'DELETE'): string {
  return `CREATE TRIGGER ${table}_no_${change.toLowerCase()} BEFORE ${change} ON ${table}
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: no ${change} of ${table}'); END;
`;
}

/** Lays out an empty database as a ledger of the present version. */
export function layOut(db: DatabaseSync): void {
  db.exec(`BEGIN IMMEDIATE;${SCHEMA}COMMIT;`);
}

export function ledgerFile(dir: string): string {
  return join(dir, 'ledger.sqlite');
}

/** Result code of SQLite in an error of the driver, without the extended part; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}
export const SQLITE_BUSY = 5;
export const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

export function pragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

/**
 * The one connection that writes. Whoever calls it holds the lock and keeps a reference: a collected database object
 * closes under its statements.
 *
 * What an earlier process wrote but did not sync before it died becomes durable here, so that answering a retry with
 * "stored before" never rests on bytes that a power cut may still take.
 */
export function openForWriting(dir: string): DatabaseSync {
  const path = ledgerFile(dir);
  if (!existsSync(path) || statSync(path).size === 0) create(dir);
  assertOurs(dir);
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON;');
    db.exec('PRAGMA checkpoint_fullfsync=ON; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;');
    // The writer checkpoints itself, after it has acknowledged; the limit gives back the space of a burst.
    db.exec(`PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=${64 << 20};`);
    assertDurable(db);
    settleWal(db, path);
    // The names of the files, and of a new directory itself, survive a power cut as well. Every time: whoever created
    // them may have died before it did this.
    sync(dir);
    sync(dirname(resolve(dir)));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Under another name until it is whole: one that dies half-way leaves a rollback journal, which no reader may roll back,
 * so that the ledger would not open again.
 */
function create(dir: string): void {
  const draft = `${ledgerFile(dir)}.new`;
  for (const part of ['', '-journal', '-wal', '-shm']) rmSync(`${draft}${part}`, { force: true });
  const db = new DatabaseSync(draft);
  try {
    db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;');
    layOut(db);
    // Closing it moves this into the file, but does not tell when it could not.
    pragma(db, 'wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
  sync(draft);
  renameSync(draft, ledgerFile(dir));
}

/** An engine that would acknowledge before the disk has it does not start. */
export function assertDurable(db: DatabaseSync): void {
  const mode = pragma(db, 'journal_mode');
  const synchronous = pragma(db, 'synchronous');
  if (mode !== 'wal' || synchronous !== 2)
    throw new Error(
      `SQLite runs with journal_mode=${String(mode)}, synchronous=${String(synchronous)}; ` +
        'an acknowledged event would not be durable',
    );
}

/**
 * A checkpoint syncs the write-ahead log first. Where a reader or a full disk holds it up, the log is synced alone:
 * a ledger on a full disk opens, so that it can be read.
 */
function settleWal(db: DatabaseSync, path: string): void {
  try {
    if (pragma(db, 'wal_checkpoint(TRUNCATE)') === 0) return;
  } catch (error) {
    if (sqliteCode(error) !== SQLITE_FULL) throw error;
  }
  sync(`${path}-wal`);
}

/** A connection that cannot write, for any thread or process, lock or not. `older`: an earlier layout will do. */
export function openForReading(dir: string, { older = false } = {}): DatabaseSync {
  assertOurs(dir, older);
  return connectReadOnly(dir);
}

function connectReadOnly(dir: string): DatabaseSync {
  const path = ledgerFile(dir);
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    db.exec('PRAGMA query_only=ON; PRAGMA cache_size=-32768;');
    pragma(db, 'schema_version');
    return db;
  } catch (error) {
    db.close();
    // A directory that may not be written has no room for the shared memory file. Without a write-ahead log, none is needed.
    if (sqliteCode(error) !== SQLITE_CANTOPEN || hasWal(path)) throw error;
    const url = pathToFileURL(path);
    url.searchParams.set('immutable', '1');
    return new DatabaseSync(url, { readOnly: true });
  }
}

function hasWal(path: string): boolean {
  return existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
}

/** Looks before anything is written: a file that is not ours, or of another layout, stays as it is. */
function assertOurs(dir: string, older = false): void {
  const version = layoutOf(dir);
  if (version > SCHEMA_VERSION) throw newerLedger(ledgerFile(dir), version);
  // 0 is a database that its creator did not live to lay out.
  if (version > 0 && version < SCHEMA_VERSION && !older)
    throw new Refusal(
      'unavailable',
      'older_ledger',
      `the ledger in ${dir} has layout ${version}; this program works with ${SCHEMA_VERSION}. Nothing was changed.`,
      { fix: 'run "precedent backup", then "precedent migrate"' },
    );
}

/** Refuses `no_ledger` and `not_a_ledger`. */
export function layoutOf(dir: string): number {
  const path = ledgerFile(dir);
  if (!existsSync(path))
    throw new Refusal('not_found', 'no_ledger', `there is no ledger in ${dir}`, {
      fix: 'give the directory that holds ledger.sqlite',
    });
  const { application, version, tables } = identity(dir);
  if (application !== APPLICATION_ID && tables > 0) throw notALedger(path);
  return version;
}

export function newerLedger(path: string, version: number, known = SCHEMA_VERSION): Refusal {
  return new Refusal(
    'unavailable',
    'newer_ledger',
    `${path} has layout ${version}; this program knows up to ${known}. Nothing was changed.`,
    { fix: 'use the version of the program that wrote it, or a later one' },
  );
}

function identity(dir: string): { application: number; version: number; tables: number } {
  try {
    const db = connectReadOnly(dir);
    try {
      return {
        application: Number(pragma(db, 'application_id')),
        version: Number(pragma(db, 'user_version')),
        tables: Number(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']),
      };
    } finally {
      db.close();
    }
  } catch (error) {
    if (sqliteCode(error) === SQLITE_NOTADB) throw notALedger(ledgerFile(dir));
    throw error;
  }
}

function notALedger(path: string): Refusal {
  return new Refusal('unavailable', 'not_a_ledger', `${path} is not a ledger of this program`, {
    fix: 'give another directory',
  });
}

export interface LedgerLock {
  release(): void;
}

/**
 * Makes this process the one writer of a directory, or refuses `ledger_in_use` or `storage_read_only`. The lock is SQLite's own
 * on a second file: the system drops it with the process, however that dies, so a lock is never stale. `lock.json` only says who.
 * Nobody else may open lock.sqlite in this process: closing any handle of it would drop the lock (POSIX).
 */
export function lockLedger(dir: string): LedgerLock {
  mkdirSync(dir, { recursive: true });
  assertWritable(dir);
  const note = join(dir, 'lock.json');
  const db = new DatabaseSync(join(dir, 'lock.sqlite'), { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (error) {
    db.close();
    if (sqliteCode(error) === SQLITE_BUSY) throw inUse(dir, note);
    throw error;
  }
  const holder = { pid: process.pid, host: hostname(), started_at: startedAt() };
  try {
    writeFileSync(note, `${JSON.stringify(holder)}\n`);
  } catch {
    // A full disk, say. The lock holds; only a refusal will not know whose it is.
  }
  return {
    release() {
      rmSync(note, { force: true });
      db.close();
    },
  };
}

function assertWritable(dir: string): void {
  try {
    accessSync(dir, constants.W_OK);
  } catch (error) {
    const message = `nothing can be written in ${dir}: ${String(error)}`;
    const fix = 'make the disk writable and start again; nothing needs repair';
    throw new Refusal('unavailable', 'storage_read_only', message, { fix });
  }
}

function startedAt(): string {
  return new Date(Math.round(performance.timeOrigin)).toISOString();
}

function inUse(dir: string, note: string): Refusal {
  let holder = 'another process';
  try {
    const who = JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown>;
    holder = `process ${String(who['pid'])} on ${String(who['host'])}, running since ${String(who['started_at'])}`;
  } catch {
    // Between taking the lock and writing the note; the refusal stands without a name.
  }
  const message = `the ledger in ${dir} is written by ${holder}`;
  const fix = 'stop that process, or use another directory';
  return new Refusal('unavailable', 'ledger_in_use', message, { fix });
}
