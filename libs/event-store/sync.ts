import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Returns once a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
