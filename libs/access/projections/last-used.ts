import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Recent } from '#kernel/recent.js';
import { ReadDatabase } from '#projections/read-database.js';

/** Least time between two notes of one key, in milliseconds. */
const INTERVAL = 60_000;

/**
 * When each key was last accepted by this server, to the minute. A note for people, not a fact of the ledger: it is in a file of its
 * own beside the read models, may be lost, and never makes a request fail.
 */
export class LastUsed {
  private readonly noted = new Recent<number>(10_000);

  private constructor(private readonly db: ReadDatabase) {}

  /** `dir`: this server's data folder. A file that cannot be read is begun anew. */
  static open(dir: string): LastUsed {
    const path = join(dir, 'last-used.sqlite');
    try {
      return LastUsed.on(path);
    } catch {
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
      return LastUsed.on(path);
    }
  }

  private static on(path: string): LastUsed {
    const db = ReadDatabase.openForWriting(path);
    db.exec(
      'CREATE TABLE IF NOT EXISTS last_used (short TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID',
    );
    return new LastUsed(db);
  }

  /** Only for keys that were accepted. `now`: milliseconds UTC. */
  note(short: string, now: number): void {
    const before = this.noted.get(short);
    if (before !== undefined && Math.abs(now - before) < INTERVAL) return;
    this.noted.set(short, now);
    try {
      this.db.run('INSERT OR REPLACE INTO last_used VALUES (?, ?)', short, now);
    } catch {
      // A full disk: the next minute tries again.
    }
  }

  /** Undefined also where the file cannot be read. */
  of(short: string): number | undefined {
    try {
      const row = this.db.get('SELECT at FROM last_used WHERE short = ?', short);
      return row?.['at'] as number | undefined;
    } catch {
      return undefined;
    }
  }

  close(): void {
    this.db.close();
  }
}
