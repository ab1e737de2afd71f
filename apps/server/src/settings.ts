import { API_KEY_FORM, parseApiKey } from '#access/index.js';
import { Refusal, type Issue } from '#kernel/refusal.js';
import { isZone } from '#kernel/time.js';

interface Setting<T> {
  /** What it is when nothing sets it, as it would be written. */
  default?: string;
  description: string;
  /** The value, or what is wrong with the text. */
  read: (text: string) => { value: T } | { problem: string };
}

const text = (value: string) => ({ value });

const oneOf =
  <T extends string>(...values: readonly T[]) =>
  (given: string) => {
    const value = values.find((v) => v === given);
    return value ? { value } : { problem: `must be one of ${values.join(', ')}` };
  };

/** Every setting there is. Each is an environment variable `PRECEDENT_<name>`; a `.env` file may hold them. */
export const SETTINGS = {
  HOST: {
    default: '127.0.0.1',
    description: 'Address to listen on.',
    read: text,
  } satisfies Setting<string>,
  PORT: {
    default: '4600',
    description: 'Port to listen on; 0 takes a free one.',
    read: (given) =>
      /^\d{1,5}$/.test(given) && Number(given) < 65_536
        ? { value: Number(given) }
        : { problem: 'must be a number from 0 to 65535' },
  } satisfies Setting<number>,
  DATA: {
    default: './data',
    description: 'Folder of the ledger and of everything derived from it.',
    read: text,
  } satisfies Setting<string>,
  EVENTSTORE: {
    default: 'sqlite:',
    description:
      'Engine: `sqlite:` in the data folder, `memory:`, which forgets at the end, or `esdb://…`, an EventStoreDB or KurrentDB that servers share.',
    read: (given) =>
      ['sqlite:', 'memory:'].includes(given) || /^esdb(\+discover)?:\/\/\S+$/.test(given)
        ? { value: given }
        : { problem: 'must be sqlite:, memory: or an esdb:// address' },
  } satisfies Setting<string>,
  BOOTSTRAP_KEY: {
    description: `Owner key to use on an empty ledger instead of a random one: ${API_KEY_FORM}. For automation.`,
    read: (given) =>
      parseApiKey(given) ? { value: given } : { problem: `must have the form ${API_KEY_FORM}` },
  } satisfies Setting<string>,
  WORKSPACE: {
    default: 'Main',
    description: 'Name of the workspace that an empty ledger gets.',
    read: (given) => (given.trim() === '' ? { problem: 'must not be blank' } : { value: given }),
  } satisfies Setting<string>,
  MODE: {
    default: 'reviewed',
    description:
      'Who governs decisions in that workspace: `reviewed` (admins and owners) or `peer` (members).',
    read: oneOf('reviewed', 'peer'),
  } satisfies Setting<'reviewed' | 'peer'>,
  ZONE: {
    default: 'UTC',
    description: 'IANA zone of that workspace: a date without a time is that day there.',
    read: (given) =>
      isZone(given) ? { value: given } : { problem: 'must be an IANA zone like Europe/Paris' },
  } satisfies Setting<string>,
  LOG_LEVEL: {
    default: 'warn',
    description: 'Least level that is logged on stderr.',
    read: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
  } satisfies Setting<string>,
  URL: {
    description: 'For the command line: address of the server; default what `client.json` says.',
    read: text,
  } satisfies Setting<string>,
  KEY: {
    description:
      'For the command line and the stdio server: key to use; default what `client.json` says.',
    read: text,
  } satisfies Setting<string>,
  TEST_EVENTSTOREDB: {
    description:
      'For tests: address of a real EventStoreDB or KurrentDB to run the engine’s suite against.',
    read: text,
  } satisfies Setting<string>,
  CORPORA: {
    description: 'For tests and benchmarks: folder of the corpora; default ../shared/corpora.',
    read: text,
  } satisfies Setting<string>,
};

type Name = keyof typeof SETTINGS;
type Value<S> = S extends Setting<infer T> ? T : never;
type WithDefault = {
  [K in Name]: (typeof SETTINGS)[K] extends { default: string } ? K : never;
}[Name];

export type Settings = { [K in WithDefault]: Value<(typeof SETTINGS)[K]> } & {
  [K in Exclude<Name, WithDefault>]?: Value<(typeof SETTINGS)[K]>;
};

const PREFIX = 'PRECEDENT_';

/** Reads all settings or refuses, naming every variable that is unknown or malformed. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const issues: Issue[] = [];
  for (const name of Object.keys(environment))
    if (name.startsWith(PREFIX) && !(name.slice(PREFIX.length) in SETTINGS))
      issues.push({ path: name, problem: 'is no setting' });
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    // An empty variable is as good as none: compose files cannot leave one out.
    const given = environment[PREFIX + name] || setting.default;
    if (given === undefined) continue;
    const result = setting.read(given);
    if ('problem' in result) issues.push({ path: PREFIX + name, problem: result.problem });
    else values[name] = result.value;
  }
  if (issues.length === 0) return values as Settings;
  throw new Refusal(
    'invalid',
    'invalid_settings',
    issues.map((i) => `${i.path} ${i.problem}`).join('; '),
    {
      issues,
      fix: `known settings: ${Object.keys(SETTINGS)
        .map((n) => PREFIX + n)
        .join(', ')}`,
    },
  );
}
