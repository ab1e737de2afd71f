import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Refusal } from '#kernel/refusal.js';
import { LedgerDamage, type Checked } from './ledger-check.js';
import { APPLICATION_ID, layOut, ledgerFile, newerLedger, openForReading } from './sqlite-file.js';
import { pragma, SCHEMA_VERSION, sqliteCode } from './sqlite-file.js';
import { meansDamage, SqliteSnapshot } from './sqlite-snapshot.js';

/** What a backup says of itself, in its own table `backup`, which no ledger has. */
export interface Manifest extends Checked {
  layout: number;
}

const SQLITE_NOTADB = 26;

/** A ledger that may be written meanwhile, by any process, as it is now. Refuses as `openForReading` does. */
export function openSnapshot(dir: string): SqliteSnapshot {
  const db = openForReading(dir, { older: true });
  try {
    return new SqliteSnapshot(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A finished file that nobody writes: neither a lock is taken nor a file laid beside it. Refuses what is no ledger or of a newer layout. */
export function openFinished(path: string): SqliteSnapshot {
  return readingFile(path, () => {
    const db = immutable(path);
    try {
      assertIdentity(db, path);
      return new SqliteSnapshot(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Proves of a finished file what no reading of its events shows: structure, indexes and every definition. A trigger that no longer
 * refuses would be found by nobody else. Throws `LedgerDamage`.
 */
export function checkStructure(path: string): void {
  checkStructureOf(path, () => immutable(path));
}

/** The same of the ledger in `dir`, which may be written meanwhile. */
export function checkStructureIn(dir: string): void {
  checkStructureOf(ledgerFile(dir), () => openForReading(dir));
}

function checkStructureOf(path: string, open: () => DatabaseSync): void {
  readingFile(path, () => {
    const db = open();
    try {
      assertIntegrity(db);
      assertDefinitions(db);
    } finally {
      db.close();
    }
  });
}

/** What the backup says of itself; undefined for a ledger that is no backup. */
export function readManifest(path: string): Manifest | undefined {
  return readingFile(path, () => {
    const db = immutable(path);
    try {
      assertIdentity(db, path);
      const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'backup'");
      if (Number(tables.get()?.['n']) === 0) return undefined;
      return manifestOf(db.prepare('SELECT manifest FROM backup').get()?.['manifest']);
    } finally {
      db.close();
    }
  });
}

/** `path` is an own copy that nobody else has open. Afterwards it is one file. */
export function writeManifest(path: string, manifest: Manifest): void {
  changing(path, (db) => {
    db.exec('CREATE TABLE backup (manifest TEXT NOT NULL) STRICT');
    db.prepare('INSERT INTO backup (manifest) VALUES (?)').run(JSON.stringify(manifest));
  });
}

/** Makes a copy of a backup a ledger. Fails where the file cannot be written as a ledger must be. */
export function removeManifest(path: string): void {
  readingFile(path, () => changing(path, (db) => db.exec('DROP TABLE backup')));
}

function changing(path: string, change: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA journal_mode=DELETE');
    db.exec('BEGIN IMMEDIATE');
    change(db);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

function manifestOf(text: unknown): Manifest {
  try {
    const manifest = JSON.parse(String(text)) as Manifest;
    if (Array.isArray(manifest.marks) && typeof manifest.coverage === 'object') return manifest;
  } catch {
    // Said below.
  }
  throw new LedgerDamage({
    at: 'manifest',
    what: 'what the backup says of itself',
    expected: 'a manifest as JSON',
    found: JSON.stringify(String(text).slice(0, 80)),
  });
}

function immutable(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly: true });
  db.exec('PRAGMA query_only=ON; PRAGMA cache_size=-32768;');
  return db;
}

function assertIdentity(db: DatabaseSync, path: string): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw notABackup(path);
  const version = Number(pragma(db, 'user_version'));
  if (version > SCHEMA_VERSION) throw newerLedger(path, version);
}

function assertIntegrity(db: DatabaseSync): void {
  const [first] = db.prepare('PRAGMA integrity_check(1)').all();
  const found = String(Object.values(first ?? {})[0]);
  if (found !== 'ok')
    throw new LedgerDamage({ at: 'the file', what: 'integrity_check', expected: 'ok', found });
}

function assertDefinitions(db: DatabaseSync): void {
  // Layouts of earlier programs are what a migration starts from, and it says itself what it needs.
  if (Number(pragma(db, 'user_version')) !== SCHEMA_VERSION) return;
  const expected = definitionsOfLayout();
  const mine = definitions(db);
  const i = expected.findIndex((text, n) => text !== mine[n]);
  if (i >= 0 || mine.length !== expected.length)
    throw new LedgerDamage({
      at: 'the definitions of tables and triggers',
      what: 'definition',
      expected: expected[i] ?? 'no more',
      found: mine[i >= 0 ? i : expected.length] ?? 'none',
    });
}

function definitions(db: DatabaseSync): string[] {
  return db
    .prepare(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> 'backup' ORDER BY name",
    )
    .all()
    .map((row) => JSON.stringify(Object.values(row)));
}

function definitionsOfLayout(): string[] {
  const db = new DatabaseSync(':memory:');
  try {
    layOut(db);
    return definitions(db);
  } finally {
    db.close();
  }
}

function notABackup(path: string): Refusal {
  return new Refusal('unavailable', 'not_a_backup', `${path} is no backup of this program`, {
    fix: 'give a file that "precedent backup" wrote; if it is one, its first bytes are damaged: use another',
  });
}

/** What SQLite finds wrong with a file is damage of that file. */
export function readingFile<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw damageOf(error, path);
  }
}

/** The error of a read as damage, where that is what it means; any other error as it is. */
export function damageOf(error: unknown, path: string): unknown {
  if (sqliteCode(error) === SQLITE_NOTADB) return notABackup(path);
  if (!meansDamage(error)) return error;
  const found = (error as Error).message;
  return new LedgerDamage(
    { at: 'the file', what: 'reading', expected: 'a whole database', found },
    { cause: error },
  );
}
