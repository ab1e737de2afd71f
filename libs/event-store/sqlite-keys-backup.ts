import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '#kernel/refusal.js';
import { keysFile } from './sqlite-keys.js';
import { sync } from './sync.js';

/** The keys of a backup, in a file of their own: it is kept for as long as an erasure may take to reach every copy, and no longer. */
export function keysOfBackup(file: string): string {
  return `${file}.keys`;
}

export interface KeptKeys {
  keys: number;
  erased: number;
}

/**
 * Copies the keys in `dir` as they are now into the new file `target`, also while a server makes further ones. What was destroyed is
 * in no page of the copy. Undefined where the folder has no keys.
 */
export function copyKeys(dir: string, target: string): KeptKeys | undefined {
  const path = keysFile(dir);
  if (!existsSync(path)) return undefined;
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout=5000');
    // Made before: a file that SQLite makes may be read by others.
    closeSync(openSync(target, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(target);
    sync(target);
    return countOf(db);
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  } finally {
    db.close();
  }
}

/** How many keys a data directory has, also while a server uses it; undefined where it has no such file. */
export function keysIn(dir: string): KeptKeys | undefined {
  const path = keysFile(dir);
  if (!existsSync(path)) return undefined;
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout=5000');
    return countOf(db);
  } finally {
    db.close();
  }
}

/** Puts the keys of a backup into a directory whose ledger is being restored; it has its name once it is whole and on the disk. */
export function restoreKeys(file: string, dir: string): KeptKeys {
  const partial = `${keysFile(dir)}.partial`;
  rmSync(partial, { force: true });
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const kept = countOf(db);
    closeSync(openSync(partial, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(partial);
    chmodSync(partial, 0o600);
    sync(partial);
    renameSync(partial, keysFile(dir));
    return kept;
  } catch (error) {
    rmSync(partial, { force: true });
    throw isForeign(error) ? noKeys(file) : error;
  } finally {
    db.close();
  }
}

function countOf(db: DatabaseSync): KeptKeys {
  const row = db.prepare('SELECT count(*) AS n, count(bytes) AS kept FROM key').get();
  const keys = row?.['kept'] as number;
  return { keys, erased: (row?.['n'] as number) - keys };
}

function isForeign(error: unknown): boolean {
  // SQLITE_NOTADB, and SQLITE_ERROR: there is no such table.
  const { errcode } = error as { errcode?: unknown };
  return errcode === 26 || errcode === 1;
}

export function noKeys(file: string): Refusal {
  return new Refusal('not_found', 'no_keys', `${file} holds no keys of a ledger`, {
    fix: 'give the file that "precedent backup" wrote beside the backup, or leave it out: then texts read [sealed]',
  });
}
