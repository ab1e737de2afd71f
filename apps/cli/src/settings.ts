import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readSettings, type Settings } from '../../server/src/settings.js';
import { explainSettings, type ShownSetting } from '../../server/src/settings-shown.js';

/** `.env` in the working folder, overruled by the environment. Throws a `Refusal` that names every wrong variable. */
export function commandLineSettings(): Settings {
  return readSettings({ ...envFile(), ...process.env });
}

/** The same settings one by one, with what is wrong with them; throws for none. */
export function shownSettings(): ShownSetting[] {
  return explainSettings(process.env, envFile());
}

function envFile(): Record<string, string | undefined> {
  return existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
}
