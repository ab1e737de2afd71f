import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sha256 } from '#kernel/json.js';
import { backUp, restore, verifyBackup, type BackupOptions } from './backup.js';
import { log, newEvent } from './conformance-support.js';
import { NO_STREAM, type RecordedEvent } from './event-store.js';
import { LedgerDamage } from './ledger-check.js';
import { ledgerFile } from './sqlite-file.js';
import { openSqliteReader, openSqliteStore, type SqliteStore } from './sqlite.js';

let scratch: string;
let dir: string;
let file: string;
let store: SqliteStore;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'precedent-backup-'));
  dir = join(scratch, 'data');
  file = join(scratch, 'a.precedent');
  store = await openSqliteStore(dir, { clock: Date.now });
});
afterEach(async () => {
  await store.close();
  rmSync(scratch, { recursive: true });
});

const quietly: BackupOptions = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
};
const text = (n: number): Uint8Array => new TextEncoder().encode(`text ${n}`);

async function fill(events: number, streams = 7): Promise<void> {
  const revisions = new Map<string, number>();
  const appends = Array.from({ length: events }, (_, i) => {
    const stream = `s-${i % streams}`;
    const revision = revisions.get(stream) ?? NO_STREAM;
    revisions.set(stream, revision + 1);
    const payload = JSON.stringify({
      n: i,
      text: 'sixty characters or so of words, é and ✓ '.repeat(4),
    });
    return store.append(stream, revision, [newEvent({ payload })]);
  });
  const blobs = Array.from({ length: 20 }, (_, i) => ({ hash: sha256(text(i)), bytes: text(i) }));
  await Promise.all([...appends, store.putBlobs(blobs)]);
}

async function logOf(folder: string): Promise<RecordedEvent[]> {
  const reader = openSqliteReader(folder);
  try {
    return await log(reader);
  } finally {
    await reader.close();
  }
}

function changeFile(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

const caught = (work: Promise<unknown>): Promise<unknown> => work.catch((e: unknown) => e);

describe('a backup', () => {
  it('B47 P4: covers the ledger while it is written, and restores to the same bytes', async () => {
    await fill(1_200);
    const before = await log(store);
    const steps = new Set<string>();
    const writing = fill(0).then(() => fill2(300));
    const { coverage, bytes } = await backUp(dir, file, {
      ...quietly,
      onProgress: (step, done, total) => {
        steps.add(step);
        expect(done).toBeLessThanOrEqual(total);
      },
    });
    await writing;
    expect([...steps]).toEqual(['reading', 'copying', 'checking']);
    expect(coverage.events).toBeGreaterThanOrEqual(1_200);
    expect(coverage.blobs).toBe(20);
    expect(statSync(file)).toMatchObject({ size: bytes });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(scratch).sort()).toEqual(['a.precedent', 'data']);
    expect((await verifyBackup(file, quietly)).coverage).toEqual(coverage);

    const copy = join(scratch, 'copy');
    expect((await restore(file, copy, quietly)).coverage).toEqual(coverage);
    expect(readdirSync(copy)).toEqual(['ledger.sqlite']);
    const restored = await logOf(copy);
    expect(restored.slice(0, before.length)).toEqual(before);
    expect(restored).toEqual((await log(store)).slice(0, restored.length));
    const digest = sha256(restored.map((e) => `${e.header}\n`).join(''));
    expect(coverage.headers_sha256).toBe(digest);
    expect(coverage.last_recorded_at).toBe(restored.at(-1)?.recordedAt);

    const again = await openSqliteStore(copy, { clock: Date.now });
    expect(await again.getBlob(sha256(text(3)))).toEqual(text(3));
    await again.append('new', NO_STREAM, [newEvent()]);
    expect(await again.end()).toBe(restored.length + 1);
    await again.close();
  });

  async function fill2(events: number): Promise<void> {
    for (let i = 0; i < events; i += 1) await store.append(`later-${i}`, NO_STREAM, [newEvent()]);
  }

  it('an empty ledger has one, too', async () => {
    const { coverage } = await backUp(dir, file, quietly);
    expect(coverage).toMatchObject({ events: 0, last_position: 0, blobs: 0 });
    const copy = join(scratch, 'copy');
    expect((await restore(file, copy, quietly)).coverage).toEqual(coverage);
  });

  it('overwrites nothing, and leaves nothing behind that is not whole', async () => {
    await fill(700);
    writeFileSync(file, 'mine');
    expect(await caught(backUp(dir, file, quietly))).toMatchObject({ error: 'file_exists' });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    rmSync(file);
    const stop = new AbortController();
    const onProgress: BackupOptions['onProgress'] = (step) => {
      if (step === 'copying') stop.abort(new Error('enough'));
    };
    expect(await caught(backUp(dir, file, { signal: stop.signal, onProgress }))).toMatchObject({
      message: 'enough',
    });
    expect(readdirSync(scratch)).toEqual(['data']);
    expect(await caught(backUp(join(scratch, 'none'), file, quietly))).toMatchObject({
      error: 'no_ledger',
    });
    await expect(backUp(dir, join(scratch, 'no', 'folder'), quietly)).rejects.toThrow('ENOENT');
  });

  it('P4: is not made of a damaged ledger, whose first bad position is named', async () => {
    await fill(30);
    await store.close();
    changeFile(
      ledgerFile(dir),
      `DROP TRIGGER event_no_update; UPDATE event SET payload = '{}' WHERE position IN (9, 17)`,
    );
    expect(await caught(backUp(dir, file, quietly))).toMatchObject({
      finding: { at: 'position 9', what: 'payload_sha256', found: sha256('{}') },
    });
    expect(readdirSync(scratch)).toEqual(['data']);
  });
});

describe('a restore', () => {
  it('refuses a folder that is not empty, a file that is no backup, and a newer layout', async () => {
    await fill(10);
    await backUp(dir, file, quietly);
    expect(await caught(restore(file, dir, quietly))).toMatchObject({ error: 'folder_not_empty' });
    const to = join(scratch, 'to');
    const refused = async (path: string): Promise<unknown> => {
      const before = existsSync(path) ? readFileSync(path) : undefined;
      const error = await caught(restore(path, to, quietly));
      expect(existsSync(to)).toBe(false);
      if (before) expect(readFileSync(path).equals(before)).toBe(true);
      return error;
    };
    expect(await refused(join(scratch, 'none'))).toMatchObject({ error: 'no_backup' });
    const prose = join(scratch, 'prose');
    writeFileSync(prose, 'no database, but longer than the header of one. '.repeat(30));
    expect(await refused(prose)).toMatchObject({ error: 'not_a_backup' });
    writeFileSync(prose, '');
    expect(await refused(prose)).toMatchObject({ error: 'not_a_backup' });
    await store.close();
    const live = join(scratch, 'live');
    copyFileSync(ledgerFile(dir), live);
    expect(await refused(live)).toMatchObject({ error: 'not_a_backup' });
    changeFile(file, 'PRAGMA user_version = 2');
    expect(await refused(file)).toMatchObject({ error: 'newer_ledger' });
  });

  const changes: [string, string, object][] = [
    [
      'an event is gone',
      'DROP TRIGGER event_no_delete; DELETE FROM event WHERE position = 30',
      { what: 'events', expected: '30', found: '29' },
    ],
    [
      'the trigger that refuses changes is another',
      `DROP TRIGGER event_no_update;
       CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT 1; END`,
      { what: 'definition' },
    ],
    ['a blob is gone', 'DELETE FROM blob WHERE rowid = 3', { what: 'blobs', found: '19' }],
    [
      'an event was added',
      'INSERT INTO event SELECT 31, stream, revision + 9, header, payload FROM event WHERE position = 30',
      { at: 'position 31', what: 'revision in the index' },
    ],
    ['its manifest is no JSON', `UPDATE backup SET manifest = '{'`, { at: 'manifest' }],
    [
      'its manifest says something else',
      `UPDATE backup SET manifest = replace(manifest, '"events":30', '"events":31')`,
      { what: 'events', expected: '31', found: '30' },
    ],
  ];
  it.each(changes)(
    'P4: of a backup in which %s restores nothing and says what',
    async (_, sql, found) => {
      await fill(30);
      await backUp(dir, file, quietly);
      changeFile(file, sql);
      const to = join(scratch, 'to');
      expect(await caught(restore(file, to, quietly))).toMatchObject({ finding: found });
      expect(await caught(verifyBackup(file, quietly))).toMatchObject({ finding: found });
      expect(existsSync(to)).toBe(false);
    },
  );

  it('P4: names the position of an event with other words in its payload or its header', async () => {
    await fill(30);
    await backUp(dir, file, quietly);
    const bytes = readFileSync(file);
    const flipped = async (words: string): Promise<unknown> => {
      const changed = Buffer.from(bytes);
      // All of them: a page may hold what was moved to another one since.
      let found = 0;
      for (let i = changed.indexOf(words); i >= 0; i = changed.indexOf(words, i), found += 1)
        changed[i + 1]! ^= 1;
      expect(found).toBeGreaterThan(0);
      writeFileSync(file, changed);
      return caught(restore(file, join(scratch, 'to'), quietly));
    };
    expect(await flipped('"n":12,')).toMatchObject({
      finding: { at: 'position 13', what: 'payload_sha256' },
    });
    // The words of a header have no hash but that of the whole.
    expect(await flipped((await log(store))[12]!.id)).toMatchObject({
      finding: { what: 'headers_sha256' },
    });
    expect(readdirSync(scratch).sort()).toEqual(['a.precedent', 'data']);
  });

  it('B47: of a truncated backup restores nothing', async () => {
    await fill(200);
    const { bytes } = await backUp(dir, file, quietly);
    for (const length of [bytes - 1, bytes - 4096, bytes >> 1, 4096, 512, 100, 16, 1]) {
      const cut = join(scratch, 'cut');
      copyFileSync(file, cut);
      truncateSync(cut, length);
      const error = await caught(restore(cut, join(scratch, 'to'), quietly));
      if (!(error instanceof LedgerDamage)) expect(error).toMatchObject({ error: 'not_a_backup' });
      expect(existsSync(join(scratch, 'to'))).toBe(false);
    }
  });
});
