import { PREFIX, SETTINGS } from './settings.js';
import type { Setting } from './settings-readers.js';

/** One setting as an operator is shown it. */
export interface ShownSetting {
  name: string;
  /** As written; absent where it is not set. Secrets are replaced. */
  value?: string;
  from: 'environment' | '.env' | 'default' | 'not set';
  problem?: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Every setting, its value and where it comes from; then what is set but is no setting. */
export function explainSettings(environment: Variables, file: Variables): ShownSetting[] {
  const known = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) =>
    shown(PREFIX + name, setting, environment, file),
  );
  const strange = Object.keys({ ...file, ...environment })
    .filter((name) => name.startsWith(PREFIX) && !(name.slice(PREFIX.length) in SETTINGS))
    .map((name): ShownSetting => {
      const from = name in environment ? 'environment' : '.env';
      return { name, from, problem: 'is no setting' };
    });
  return [...known, ...strange];
}

function shown(
  name: string,
  setting: Setting<unknown>,
  environment: Variables,
  file: Variables,
): ShownSetting {
  const given = environment[name] || file[name];
  const from = environment[name] ? 'environment' : '.env';
  if (!given)
    return setting.default === undefined
      ? { name, from: 'not set' }
      : { name, value: setting.default, from: 'default' };
  const read = setting.read(given);
  // An address may hold a password.
  const value = setting.secret ? '(set, not shown)' : given.replace(/:\/\/[^@/]*@/, '://…@');
  return { name, value, from, ...('problem' in read ? { problem: read.problem } : {}) };
}
