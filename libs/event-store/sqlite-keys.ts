import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { Recent } from '#kernel/recent.js';
import { threadOf } from '#kernel/thread.js';
import { refusedWrite, storeClosed } from './header.js';
import { randomKey, type Key, type KeyReader, type KeyVault, type MakeKey } from './key-vault.js';
import { createKeys, KEYS_FILE } from './sqlite-keys-file.js';
import type { FromKeysWriter, ToKeysWriter } from './sqlite-keys-writer.js';

/** Keys kept in memory, twice as many at most. */
const KEPT = 50_000;

export function keysFile(dir: string): string {
  return join(dir, KEYS_FILE);
}

/**
 * Reads the keys of a data directory that another thread or process may write. Undefined where it has none, or none that can be read
 * without writing: a crash in the middle of a write leaves that to the next server.
 */
export function openKeysForReading(dir: string): KeyReader | undefined {
  if (!existsSync(keysFile(dir))) return undefined;
  try {
    const reader = new KeysReader(keysFile(dir));
    reader.key('');
    return reader;
  } catch {
    return undefined;
  }
}

class KeysReader implements KeyReader {
  readonly #db: DatabaseSync;
  readonly #one: StatementSync;
  readonly #kept = new Recent<Uint8Array | 'erased'>(KEPT);

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true });
    this.#db.exec('PRAGMA query_only=ON; PRAGMA busy_timeout=5000;');
    this.#one = this.#db.prepare('SELECT bytes FROM key WHERE id = ?');
  }

  key(id: string): Key {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    const row = this.#one.get(id);
    if (!row) return undefined;
    const key = row['bytes'] === null ? 'erased' : (row['bytes'] as Uint8Array);
    this.#kept.set(id, key);
    return key;
  }

  put(id: string, key: Uint8Array | 'erased'): void {
    this.#kept.set(id, key);
  }

  count(): { keys: number; erased: number } {
    const row = this.#db.prepare('SELECT count(*) AS n, count(bytes) AS kept FROM key').get();
    const keys = row?.['kept'] as number;
    return { keys, erased: (row?.['n'] as number) - keys };
  }

  close(): Promise<void> {
    this.#db.close();
    return Promise.resolve();
  }
}

/** The keys of a data directory, in a file of their own (`keys.sqlite`). One process at a time: it holds the ledger's lock. */
export function openKeys(dir: string, { make = randomKey }: { make?: MakeKey } = {}): KeyVault {
  createKeys(keysFile(dir));
  return new SqliteKeys(keysFile(dir), make);
}

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
}

class SqliteKeys implements KeyVault {
  readonly #reader: KeysReader;
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  /** Keys that others wait for as well: each is made once. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #exited: Promise<void>;
  #closed = false;

  constructor(
    path: string,
    private readonly make: MakeKey,
  ) {
    this.#reader = new KeysReader(path);
    const { url, execArgv } = threadOf(import.meta.url, './sqlite-keys-writer');
    this.#worker = new Worker(url, { execArgv, workerData: { path } });
    this.#worker.on('message', (answer: FromKeysWriter) => {
      this.#received(answer);
    });
    this.#worker.on('error', (error: Error) => {
      this.#lost(error);
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#lost(new Error('the thread that writes keys ended'));
        resolve();
      });
    });
  }

  key(id: string): Key {
    return this.#reader.key(id);
  }

  async ensure(ids: readonly string[]): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => this.#reader.key(id) === undefined);
    if (missing.length === 0) return;
    const fresh = missing.filter((id) => !this.#underWay.has(id));
    if (fresh.length > 0) {
      const keys = fresh.map((id) => ({ id, bytes: this.make(id) }));
      const done = this.#ask({ kind: 'ensure', keys }).finally(() => {
        for (const id of fresh) this.#underWay.delete(id);
      });
      for (const id of fresh) this.#underWay.set(id, done);
    }
    await Promise.all(missing.map((id) => this.#underWay.get(id) ?? Promise.resolve()));
  }

  async destroy(id: string): Promise<void> {
    await this.#underWay.get(id)?.catch(() => undefined);
    if (this.#reader.key(id) === 'erased') return;
    await this.#ask({ kind: 'destroy', id });
    this.#reader.put(id, 'erased');
  }

  count(): { keys: number; erased: number } {
    return this.#reader.count();
  }

  async close(): Promise<void> {
    if (this.#closed) return this.#exited;
    this.#closed = true;
    this.#worker.postMessage({ kind: 'close' } satisfies ToKeysWriter);
    await this.#exited;
    await this.#reader.close();
  }

  #ask(work: ToKeysWriter): Promise<void> {
    if (this.#closed) return Promise.reject(storeClosed());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage(work);
    });
  }

  #received(answer: FromKeysWriter): void {
    const asked = this.#waiting.shift();
    if (answer.kind === 'done') asked?.resolve();
    else asked?.reject(refusedWrite(answer.full, answer.reason));
  }

  #lost(error: Error): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
