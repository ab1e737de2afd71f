import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { backUp, restore, type BackupOptions } from './backup.js';
import { keysIn, keysOfBackup } from './sqlite-keys-backup.js';
import { openSqliteStore } from './sqlite.js';
import { openKeys, openKeysForReading } from './sqlite-keys.js';

let root: string;
let dir: string;
let file: string;
const kept = ['k_1', 'k_2', 'k_3'];
const options: BackupOptions = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
};

/** Bytes of the keys that were made in `dir`, by their ids. */
const bytes = new Map<string, Buffer>();

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'keys-backup-'));
  dir = join(root, 'ledger');
  file = join(root, 'monday.precedent');
  const store = await openSqliteStore(dir, { clock: () => 1_000 });
  const text = new TextEncoder().encode('a text');
  await store.putBlobs([{ hash: sha256(text), bytes: text }]);
  await store.close();
  const keys = openKeys(dir);
  await keys.ensure([...kept, 'k_gone']);
  for (const id of [...kept, 'k_gone']) bytes.set(id, Buffer.from(keys.key(id) as Uint8Array));
  await keys.destroy('k_gone');
  await keys.close();
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const keyIn = async (folder: string, id: string): Promise<unknown> => {
  const reader = openKeysForReading(folder);
  const key = reader?.key(id);
  await reader?.close();
  return key instanceof Uint8Array ? Buffer.from(key) : key;
};

describe('keys of a backup', () => {
  it('are in a file of their own, for nobody else to read, and in no other', async () => {
    const done = await backUp(dir, file, options);
    expect(done.keys).toEqual({ keys: 3, erased: 1 });
    expect(statSync(keysOfBackup(file)).mode & 0o077).toBe(0);
    for (const id of kept) {
      expect(readFileSync(file).includes(bytes.get(id) ?? '')).toBe(false);
      expect(readFileSync(keysOfBackup(file)).includes(bytes.get(id) ?? '')).toBe(true);
    }
    expect(readdirSync(root).sort()).toEqual([
      'ledger',
      'monday.precedent',
      'monday.precedent.keys',
    ]);
  });

  it('B48: of a destroyed one there is no byte', async () => {
    await backUp(dir, file, options);
    const gone = bytes.get('k_gone')?.subarray(0, 12) ?? '';
    expect(readFileSync(keysOfBackup(file)).includes(gone)).toBe(false);
  });

  it('stay at home where that is wished, and where there are none', async () => {
    expect((await backUp(dir, file, { ...options, keys: false })).keys).toBeUndefined();
    expect(existsSync(keysOfBackup(file))).toBe(false);
    rmSync(join(dir, 'keys.sqlite'));
    const other = join(root, 'tuesday.precedent');
    expect((await backUp(dir, other, options)).keys).toBeUndefined();
  });

  it('are not written over others, and then there is no backup either', async () => {
    writeFileSync(keysOfBackup(file), 'of another one');
    await expect(backUp(dir, file, options)).rejects.toThrow(Refusal);
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(keysOfBackup(file), 'utf8')).toBe('of another one');
  });

  it('come back with the ledger, from beside it or from where they are said to be', async () => {
    await backUp(dir, file, options);
    const back = join(root, 'back');
    expect((await restore(file, back, options)).keys).toEqual({ keys: 3, erased: 1 });
    expect(keysIn(back)).toEqual({ keys: 3, erased: 1 });
    for (const id of kept) expect(await keyIn(back, id)).toEqual(bytes.get(id));
    expect(await keyIn(back, 'k_gone')).toBe('erased');
    const elsewhere = join(root, 'elsewhere');
    writeFileSync(elsewhere, readFileSync(keysOfBackup(file)));
    rmSync(keysOfBackup(file));
    const without = join(root, 'without');
    expect((await restore(file, without, options)).keys).toBeUndefined();
    expect(keysIn(without)).toBeUndefined();
    const given = join(root, 'given');
    await restore(file, given, { ...options, keysFrom: elsewhere });
    expect(await keyIn(given, 'k_1')).toEqual(bytes.get('k_1'));
  });

  it('that are none are refused, and nothing is restored', async () => {
    await backUp(dir, file, { ...options, keys: false });
    const back = join(root, 'back');
    const none = join(root, 'none');
    writeFileSync(
      none,
      'this is no file of keys, but it is long enough to be looked at'.repeat(20),
    );
    for (const keysFrom of [none, file, join(root, 'absent')]) {
      const refused = restore(file, back, { ...options, keysFrom });
      await expect(refused).rejects.toMatchObject({ error: 'no_keys' });
      expect(existsSync(back)).toBe(false);
    }
  });
});
