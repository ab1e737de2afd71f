import { mkdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = (path: string): string => new URL(path, import.meta.url).href;

/** What is measured is the build; `#…` imports lead to `dist` here as they do in production. */
export const FILES = {
  hooks: here('../test/support/ts-hooks.mjs'),
  server: fileURLToPath(here('../dist/apps/server/src/main.js')),
  application: here('../dist/apps/server/src/application.js'),
  settings: here('../dist/apps/server/src/settings.js'),
  projections: here('../dist/apps/server/src/projections.js'),
  log: here('../dist/apps/server/src/log.js'),
  /** Packages of other products, never the project's own. */
  peers: fileURLToPath(here('../node_modules/.cache/precedent/peers')),
  results: fileURLToPath(here('./results.json')),
};

/** Of the workspace's owner, in every ledger that a row prepares. */
export const OWNER_KEY = `prec_BENCHKEY_${'k'.repeat(40)}`;

const MEMORY_FILESYSTEMS = [0x01021994, 0x858458f6];

/** A folder for ledgers, on a disk: a sync to memory would cost nothing. */
export function diskFolder(): string {
  const own = fileURLToPath(here('../data'));
  if (!MEMORY_FILESYSTEMS.includes(statfsSync(tmpdir()).type)) return tmpdir();
  mkdirSync(own, { recursive: true });
  return own;
}
