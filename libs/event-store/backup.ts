import { closeSync, existsSync, linkSync, mkdirSync, openSync } from 'node:fs';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Refusal } from '#kernel/refusal.js';
import {
  copyKeys,
  keysOfBackup,
  noKeys,
  restoreKeys,
  type KeptKeys,
} from './sqlite-keys-backup.js';
import { checkLedger, LedgerDamage, type Coverage } from './ledger-check.js';
import {
  checkStructure,
  damageOf,
  openFinished,
  openSnapshot,
  readManifest,
  removeManifest,
  writeManifest,
  type Manifest,
} from './sqlite-backup.js';
import { ledgerFile } from './sqlite-file.js';
import { keysFile } from './sqlite-keys.js';
import type { SqliteSnapshot } from './sqlite-snapshot.js';
import { sync } from './sync.js';

// A backup is one SQLite file: the ledger's tables, and what it says of itself in one more. No file that SQLite has open in this
// process is opened here: closing it would drop SQLite's locks (POSIX).

export interface BackupOptions {
  /** False: without the keys of sealed texts. Default: they go into a second file beside the backup, if there are any. */
  keys?: boolean;
  /** Ends the work; what was begun is removed. */
  signal: AbortSignal;
  onProgress: (step: 'reading' | 'copying' | 'checking', done: number, total: number) => void;
}

export interface BackedUp {
  coverage: Coverage;
  layout: number;
  /** Of the file. */
  bytes: number;
  /** The keys of sealed texts, where they came along. */
  keys?: KeptKeys;
}

/**
 * Copies the ledger in `dir`, which other processes may write meanwhile, into the new file `target`. It holds everything that was
 * acknowledged before the call. It gets its name once it is on the disk and its own content was checked against the ledger's:
 * a file of that name is a whole backup, however this ends. Refuses `file_exists` and what the reader refuses.
 */
export async function backUp(
  dir: string,
  target: string,
  options: BackupOptions,
): Promise<BackedUp> {
  const keysTarget = keysOfBackup(target);
  for (const file of [target, keysTarget]) if (existsSync(file)) throw fileExists(file);
  const ledger = openSnapshot(dir);
  const partial = join(dirname(target), `.${basename(target)}.${process.pid}.partial`);
  try {
    createPrivate(partial);
    const manifest = await copyLedger(ledger, ledgerFile(dir), partial, options);
    writeManifest(partial, manifest);
    sync(partial);
    const { coverage, layout } = await checkCopy(partial, manifest, 'checking', options);
    const { size: bytes } = statSync(partial);
    // After the ledger: keys are made before what they seal, so every key that the copy needs is there by now.
    const keys = options.keys === false ? undefined : copyKeys(dir, keysTarget);
    nameCopy(partial, target, keysTarget);
    sync(dirname(resolve(target)));
    return { coverage, layout, bytes, ...(keys ? { keys } : {}) };
  } finally {
    ledger.close();
    rmSync(partial, { force: true });
    rmSync(`${partial}-journal`, { force: true });
  }
}

/** Without the ledger its keys are not left alone. */
function nameCopy(partial: string, target: string, keysTarget: string): void {
  try {
    giveName(partial, target);
  } catch (error) {
    rmSync(keysTarget, { force: true });
    throw error;
  }
}

async function copyLedger(
  ledger: SqliteSnapshot,
  path: string,
  partial: string,
  options: BackupOptions,
): Promise<Manifest> {
  try {
    const checked = await check(ledger, undefined, 'reading', options);
    await copy(ledger, partial, options);
    return { layout: ledger.layout, ...checked };
  } catch (error) {
    throw damageOf(error, path);
  } finally {
    // From here on the write-ahead log of the live ledger need not keep this moment.
    ledger.close();
  }
}

/** Proves a backup and writes nothing. Refuses `no_backup`, `not_a_backup` and `newer_ledger`; throws `LedgerDamage`. */
export async function verifyBackup(file: string, options: BackupOptions): Promise<BackedUp> {
  const manifest = manifestOf(file);
  const { coverage, layout } = await checkCopy(file, manifest, 'checking', options);
  return { coverage, layout, bytes: statSync(file).size };
}

export interface RestoreOptions extends Omit<BackupOptions, 'keys'> {
  /** File with the keys. Default: the one beside the backup, if it is there. */
  keysFrom?: string;
}

/**
 * Makes the ledger of an empty or new directory from a backup. `ledger.sqlite` gets its name once it is on the disk and was proved
 * to hold what the backup says: a directory in which this did not end has no ledger. Refuses `folder_not_empty` and what
 * `verifyBackup` refuses; throws `LedgerDamage`.
 */
export async function restore(
  file: string,
  dir: string,
  options: RestoreOptions,
): Promise<BackedUp> {
  const beside = keysOfBackup(file);
  const keysFrom = options.keysFrom ?? (existsSync(beside) ? beside : undefined);
  if (keysFrom !== undefined && !existsSync(keysFrom)) throw noKeys(keysFrom);
  assertEmpty(dir);
  const manifest = manifestOf(file);
  await checkCopy(file, manifest, 'reading', options);
  const isNew = makeEmpty(dir);
  const target = ledgerFile(dir);
  const partial = `${target}.partial`;
  try {
    await copyBackup(file, partial, options);
    removeManifest(partial);
    sync(partial);
    const { coverage, layout } = await checkCopy(partial, manifest, 'checking', options);
    const keys = keysFrom === undefined ? undefined : restoreKeys(keysFrom, dir);
    renameSync(partial, target);
    sync(dir);
    if (isNew) sync(dirname(resolve(dir)));
    return { coverage, layout, bytes: statSync(file).size, ...(keys ? { keys } : {}) };
  } catch (error) {
    rmSync(keysFile(dir), { force: true });
    rmSync(`${partial}-journal`, { force: true });
    rmSync(partial, { force: true });
    if (isNew) rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

async function copyBackup(file: string, partial: string, options: BackupOptions): Promise<void> {
  const backup = openFinished(file);
  try {
    createPrivate(partial);
    await copy(backup, partial, options);
  } catch (error) {
    throw damageOf(error, file);
  } finally {
    backup.close();
  }
}

async function checkCopy(
  path: string,
  manifest: Manifest,
  step: 'reading' | 'checking',
  options: BackupOptions,
): Promise<Manifest> {
  const copied = openFinished(path);
  try {
    if (copied.layout !== manifest.layout)
      throw new LedgerDamage({
        at: 'the file',
        what: 'layout',
        expected: String(manifest.layout),
        found: String(copied.layout),
      });
    const checked = await check(copied, manifest, step, options);
    checkStructure(path);
    return { layout: copied.layout, ...checked };
  } catch (error) {
    throw damageOf(error, path);
  } finally {
    copied.close();
  }
}

function check(
  ledger: SqliteSnapshot,
  expected: Manifest | undefined,
  step: 'reading' | 'checking',
  { signal, onProgress }: BackupOptions,
) {
  const { size } = ledger;
  return checkLedger(ledger, {
    // The one writer of this engine counts them itself.
    contiguous: true,
    signal,
    ...(expected ? { expected } : {}),
    onProgress: (done) => onProgress(step, done, size),
  });
}

function copy(from: SqliteSnapshot, path: string, options: BackupOptions): Promise<void> {
  return from.copyTo(path, {
    signal: options.signal,
    onProgress: (done, total) => options.onProgress('copying', done, total),
  });
}

function manifestOf(file: string): Manifest {
  if (!existsSync(file) || !statSync(file).isFile())
    throw new Refusal('not_found', 'no_backup', `there is no file ${file}`, {
      fix: 'give a file that "precedent backup" wrote',
    });
  const manifest = readManifest(file);
  if (manifest) return manifest;
  throw new Refusal('unavailable', 'not_a_backup', `${file} is a ledger in use, not a backup`, {
    fix: 'make one of its folder with "precedent backup"',
  });
}

/** True where the directory was not there before. */
function makeEmpty(dir: string): boolean {
  assertEmpty(dir);
  if (existsSync(dir)) return false;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return true;
}

function assertEmpty(dir: string): void {
  if (!existsSync(dir) || (statSync(dir).isDirectory() && readdirSync(dir).length === 0)) return;
  throw new Refusal('conflict', 'folder_not_empty', `${dir} is not an empty folder`, {
    fix: 'give a folder that is empty or does not exist: nothing is ever restored over anything',
  });
}

/** An empty file of this user alone: the ledger holds what its readers may not all see. */
function createPrivate(path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
}

/** Never replaces a file that came about meanwhile. Where the file system has no links, that is looked at just before. */
function giveName(partial: string, target: string): void {
  try {
    linkSync(partial, target);
  } catch {
    if (existsSync(target)) throw fileExists(target);
    renameSync(partial, target);
  }
}

function fileExists(path: string): Refusal {
  return new Refusal('conflict', 'file_exists', `${path} is there already`, {
    fix: 'give another name: no backup is ever overwritten',
  });
}
