import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

const file = findPackageJSON(import.meta.url);

/** Of this package. */
export const VERSION = file
  ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  : '0.0.0';
