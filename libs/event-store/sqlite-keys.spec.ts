import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryKeys, type KeyVault } from './key-vault.js';
import { keysFile, openKeys, openKeysForReading } from './sqlite-keys.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'keys-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const made = (id: string): Uint8Array => new Uint8Array(32).fill(id.charCodeAt(id.length - 1));

/** Every byte of every file of the folder. */
function bytesOf(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
}

describe.each<[string, () => KeyVault]>([
  ['in memory', () => new MemoryKeys(made)],
  ['in a file', () => openKeys(dir, { make: made })],
])('keys %s', (_where, open) => {
  it('are made once, and stay what they are', async () => {
    const keys = open();
    expect(keys.key('a')).toBeUndefined();
    await Promise.all([keys.ensure(['a', 'b', 'a']), keys.ensure(['b', 'c'])]);
    await keys.ensure(['a']);
    expect(['a', 'b', 'c'].map((id) => keys.key(id))).toEqual(['a', 'b', 'c'].map(made));
    expect(keys.count()).toEqual({ keys: 3, erased: 0 });
    await keys.close();
  });

  it('B48: a destroyed one is gone for good, and so is one that was never here', async () => {
    const keys = open();
    await keys.ensure(['a', 'b']);
    await keys.destroy('a');
    await keys.destroy('z');
    await keys.destroy('a');
    await keys.ensure(['a', 'z']);
    expect(['a', 'b', 'z'].map((id) => keys.key(id))).toEqual(['erased', made('b'), 'erased']);
    expect(keys.count()).toEqual({ keys: 1, erased: 2 });
    await keys.close();
  });
});

describe('the file of the keys', () => {
  it('P1: holds every key that was acknowledged, and nobody else may read it', async () => {
    const ids = Array.from({ length: 500 }, (_, i) => `k_${i}`);
    const keys = openKeys(dir);
    await Promise.all(ids.map((id) => keys.ensure([id])));
    const before = ids.map((id) => keys.key(id));
    // Read by another handle, as the search thread does, while this one is open.
    const reader = openKeysForReading(dir);
    expect(ids.map((id) => reader?.key(id))).toEqual(before);
    await reader?.close();
    await keys.close();
    const again = openKeys(dir);
    expect(ids.map((id) => again.key(id))).toEqual(before);
    expect(new Set(before.map((key) => Buffer.from(key as Uint8Array).toString('hex'))).size).toBe(
      500,
    );
    expect(statSync(keysFile(dir)).mode & 0o077).toBe(0);
    await again.close();
  });

  it('B48: no byte of a destroyed key is left in any file, while it is open and after', async () => {
    const keys = openKeys(dir);
    const ids = Array.from({ length: 200 }, (_, i) => `k_${i}`);
    await keys.ensure(ids);
    const gone = ids.filter((_, i) => i % 3 === 0);
    const bytes = gone.map((id) => Buffer.from(keys.key(id) as Uint8Array));
    expect(bytes.filter((key) => bytesOf(dir).includes(key))).toHaveLength(gone.length);
    await Promise.all(gone.map((id) => keys.destroy(id)));
    expect(bytes.filter((key) => bytesOf(dir).includes(key.subarray(0, 12)))).toEqual([]);
    await keys.close();
    expect(bytes.filter((key) => bytesOf(dir).includes(key.subarray(0, 12)))).toEqual([]);
    const left = openKeys(dir);
    expect(left.count()).toEqual({ keys: 200 - gone.length, erased: gone.length });
    await left.close();
  });

  it('is not made by who only reads', () => {
    expect(openKeysForReading(dir)).toBeUndefined();
    expect(readdirSync(dir)).toEqual([]);
  });

  it('after closing takes nothing more', async () => {
    const keys = openKeys(dir);
    await keys.close();
    await expect(keys.ensure(['a'])).rejects.toThrow();
  });
});
