import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { copyFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LedgerDamage, type Coverage, type Finding } from '#event-store/ledger-check.js';
import { checkStructure, openFinished } from '#event-store/sqlite-backup.js';
import { openKeys } from '#event-store/sqlite-keys.js';
import { sync } from '#event-store/sync.js';
import { Refusal } from '#kernel/refusal.js';
import { loadBundle } from './bundle-read.js';
import { BUNDLE_FILES, linesOf, readManifest, type BundleManifest } from './bundle.js';
import { earliest, verifyLedger, type Verified } from './verify.js';

export interface ImportOptions {
  signal: AbortSignal;
  onProgress: (step: 'reading' | 'checking', done: number) => void;
}

/**
 * Makes the ledger of an empty or new folder from a bundle, and proves it. `ledger.sqlite` gets its name last: a folder in which this did
 * not end has no ledger. Positions are counted from 1; headers, payloads and texts are the bundle's bytes.
 * Refuses `folder_not_empty`, `partial_bundle` and what `readManifest` refuses; throws `LedgerDamage`.
 */
export async function importBundle(
  dir: string,
  target: string,
  options: ImportOptions,
): Promise<Verified> {
  const manifest = readManifest(dir);
  if (manifest.workspace !== null)
    throw new Refusal('conflict', 'partial_bundle', `${dir} holds one workspace of a ledger`, {
      fix: 'a ledger is made of a whole export; "precedent verify --bundle" proves this one',
    });
  assertEmpty(target);
  const isNew = !existsSync(target);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  try {
    return await fill(dir, manifest, target, options);
  } catch (error) {
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true });
    if (isNew) rmSync(target, { recursive: true, force: true });
    throw error;
  }
}

async function fill(
  dir: string,
  manifest: BundleManifest,
  target: string,
  { signal, onProgress }: ImportOptions,
): Promise<Verified> {
  const partial = join(target, 'ledger.sqlite.partial');
  const { damage } = await loadBundle(dir, manifest, partial, {
    signal,
    onProgress: (done) => onProgress('reading', done),
    renumber: true,
  });
  const snapshot = openFinished(partial);
  let verified: Verified;
  try {
    verified = await verifyLedger(snapshot, {
      contiguous: true,
      wholeStreams: true,
      signal,
      onProgress: (done) => onProgress('checking', done),
    });
  } finally {
    snapshot.close();
  }
  const known = earliest([verified.finding, damage].filter((f) => f !== undefined));
  const finding = known ?? differing(manifest, verified.coverage);
  if (finding) throw new LedgerDamage(finding);
  checkStructure(partial);
  await importKeys(dir, target);
  copyFileSync(join(dir, BUNDLE_FILES.keys), join(target, BUNDLE_FILES.keys));
  renameSync(partial, join(target, 'ledger.sqlite'));
  sync(target);
  sync(dirname(resolve(target)));
  return verified;
}

/** Positions are counted anew, so the last one may differ. */
function differing({ coverage }: BundleManifest, found: Coverage): Finding | undefined {
  for (const what of ['events', 'last_recorded_at', 'blobs', 'headers_sha256'] as const)
    if (coverage[what] !== found[what])
      return {
        at: 'the export as a whole',
        what,
        expected: String(coverage[what]),
        found: String(found[what]),
      };
  return undefined;
}

/** Keys of sealed texts, where the export has them; destroyed ones stay destroyed. */
async function importKeys(dir: string, target: string): Promise<void> {
  const path = join(dir, BUNDLE_FILES.textKeys);
  if (!existsSync(path)) return;
  let batch = new Map<string, Uint8Array>();
  const vault = openKeys(target, { make: (id) => batch.get(id) ?? new Uint8Array() });
  try {
    for await (const { text } of linesOf(path)) {
      const { id, key } = JSON.parse(text) as { id: string; key?: string };
      if (key === undefined) await vault.destroy(id);
      else batch.set(id, new Uint8Array(Buffer.from(key, 'base64')));
      if (batch.size < 1_000) continue;
      await vault.ensure([...batch.keys()]);
      batch = new Map();
    }
    await vault.ensure([...batch.keys()]);
  } finally {
    await vault.close();
  }
}

function assertEmpty(dir: string): void {
  if (!existsSync(dir) || (statSync(dir).isDirectory() && readdirSync(dir).length === 0)) return;
  throw new Refusal('conflict', 'folder_not_empty', `${dir} is not an empty folder`, {
    fix: 'give a folder that is empty or does not exist: nothing is ever imported over anything',
  });
}
