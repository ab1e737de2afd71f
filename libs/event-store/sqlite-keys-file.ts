import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Beside the ledger, never in it: its backups must expire, those of the ledger need not. */
export const KEYS_FILE = 'keys.sqlite';

/** A rollback journal that is deleted with each commit: a write-ahead log would keep a destroyed key. Freed bytes are overwritten. */
export function openKeysForWriting(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec(
    'PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA; PRAGMA secure_delete=ON; PRAGMA busy_timeout=5000;',
  );
  return db;
}

/** Makes the file where there is none, for this user alone. A destroyed key is a row without bytes. */
export function createKeys(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const db = openKeysForWriting(path);
  try {
    db.exec('CREATE TABLE IF NOT EXISTS key (id TEXT PRIMARY KEY, bytes BLOB) WITHOUT ROWID');
  } finally {
    db.close();
  }
}
