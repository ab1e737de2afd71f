import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readSettings, type Settings } from '../../server/src/settings.js';

/** `.env` in the working folder, overruled by the environment. Throws a `Refusal` that names every wrong variable. */
export function commandLineSettings(): Settings {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
  return readSettings({ ...file, ...process.env });
}
