import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Puts a file that only its owner may read where there is none. Whole and on the disk before it has its name; two at once agree on one. */
export async function createFile(path: string, text: string): Promise<void> {
  const next = await written(path, text, 0o600);
  await link(next, path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  await rm(next, { force: true });
  await syncFolder(path);
}

/** The former file or this one, whatever happens, and this one once it resolves. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  await rename(await written(path, text, mode), path);
  await syncFolder(path);
}

async function written(path: string, text: string, mode: number): Promise<string> {
  const next = `${path}.${process.pid}.tmp`;
  await rm(next, { force: true });
  const file = await open(next, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return next;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
