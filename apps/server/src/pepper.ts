import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pepperOf, type Pepper } from '#access/index.js';
import { Refusal } from '#kernel/refusal.js';
import { createFile } from './durable-file.js';
import type { Settings } from './settings.js';

/**
 * The secret that is hashed with every key: from the setting, or from a file of the data folder, which the first start writes and which
 * is durable before any key depends on it. None where servers share a ledger and no setting gives them the same one.
 */
export async function pepperFor(
  settings: Pick<Settings, 'PEPPER' | 'EVENTSTORE' | 'DATA'>,
): Promise<Pepper | undefined> {
  if (settings.PEPPER !== undefined) return pepperOf(settings.PEPPER);
  switch (settings.EVENTSTORE) {
    case 'memory:':
      return pepperOf(randomBytes(32).toString('hex'));
    case 'sqlite:':
      return pepperOf(await fromFile(settings.DATA));
    default:
      return undefined;
  }
}

async function fromFile(dir: string): Promise<string> {
  const path = join(dir, 'pepper');
  const text = (await readIfThere(path)) ?? (await created(path));
  if (/^[0-9a-f]{64}$/.test(text.trim())) return text.trim();
  throw new Refusal('invalid', 'invalid_pepper', `${path} holds no pepper`, {
    fix: 'put the right file back, or delete it: a new one is written, the old keys end, and an owner key is printed',
  });
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function created(path: string): Promise<string> {
  await createFile(path, `${randomBytes(32).toString('hex')}\n`);
  return readFile(path, 'utf8');
}
