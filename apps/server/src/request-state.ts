import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#kernel/refusal.js';
import type { Settings } from './settings.js';

const FILE = 'request-state.key';
const BYTES = 32;

/**
 * The secret that seals the request states of MCP clients: from the setting, or from a file in the data folder, which the first start
 * writes. Losing it costs no more than the questions that are open.
 */
export async function requestStateSecret(
  settings: Pick<Settings, 'REQUEST_STATE_SECRET' | 'EVENTSTORE' | 'DATA'>,
): Promise<Uint8Array> {
  const given = settings.REQUEST_STATE_SECRET;
  if (given !== undefined) return Buffer.from(given, 'utf8');
  if (settings.EVENTSTORE === 'memory:') return randomBytes(BYTES);
  const file = join(settings.DATA, FILE);
  try {
    await writeFile(file, randomBytes(BYTES).toString('hex'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const text = (await readFile(file, 'utf8')).trim();
  if (/^[0-9a-f]{64,}$/.test(text)) return Buffer.from(text, 'hex');
  throw new Refusal('invalid', 'invalid_secret', `${file} holds no secret of 32 bytes in hex`, {
    fix: `delete ${file}; the next start writes a new one`,
  });
}
