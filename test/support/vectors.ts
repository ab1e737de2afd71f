import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { FetchResource } from '#transparency/log-reader.js';
import { CORPORA } from './corpora.js';

/** Test vectors of others: Merkle proofs, canonical JSON, a tiled log. They lie beside the corpora. */
export const VECTORS = resolve(CORPORA, '..', 'vectors');

/** Every file below a folder of the vectors, sorted, with paths relative to it. */
export function vectorFiles(folder: string): string[] {
  return readdirSync(join(VECTORS, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(VECTORS, folder), join(entry.parentPath, entry.name)))
    .sort();
}

export function readVector(...path: readonly string[]): Buffer {
  return readFileSync(join(VECTORS, ...path));
}

/** A tiled log in a folder. `changed` may replace what is read. */
export function logIn(
  folder: string,
  changed: (path: string, bytes: Buffer) => Buffer | undefined = (_, bytes) => bytes,
): FetchResource {
  return async (path) => {
    let bytes: Buffer;
    try {
      bytes = readFileSync(join(folder, path));
    } catch {
      return undefined;
    }
    return Promise.resolve(changed(path, bytes));
  };
}
