import { API_KEY_FORM, parseApiKey } from '#access/index.js';
import { Refusal, type Issue } from '#kernel/refusal.js';
import { TOOLSETS } from '#kernel/context.js';
import { isZone } from '#kernel/time.js';
import {
  address,
  isHost,
  isOrigin,
  issuer,
  list,
  number,
  oneOf,
  origin,
  text,
  type Setting,
} from './settings-readers.js';

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
    read: number(0, 65_535),
  } satisfies Setting<number>,
  PUBLIC_URL: {
    description:
      'Address under which clients reach the server, if it is behind a proxy: `https://precedent.example.com`. Default: where it listens.',
    read: origin,
  } satisfies Setting<string>,
  ALLOWED_HOSTS: {
    description:
      'Further names in the Host header to answer to, separated by commas; `name` for any port or `name:port`. Loopback names, `PRECEDENT_HOST` and the host of `PRECEDENT_PUBLIC_URL` always are.',
    read: list(isHost, 'host names'),
  } satisfies Setting<readonly string[]>,
  ALLOWED_ORIGINS: {
    description:
      'Origins of browser pages that may send requests, beside the server’s own, separated by commas: `https://app.example.com`.',
    read: list(isOrigin, 'origins like https://app.example.com'),
  } satisfies Setting<readonly string[]>,
  RATE_LIMIT: {
    default: '60000',
    description: 'Requests that one principal may send in a minute to this server; 0 for no limit.',
    read: number(0, 100_000_000),
  } satisfies Setting<number>,
  DRAIN: {
    default: '9',
    description: 'Seconds that a shutdown waits at most for calls under way.',
    read: number(0, 3_600),
  } satisfies Setting<number>,
  METRICS: {
    default: 'loopback',
    description:
      'Who may read `/metrics` without a credential: callers on this machine (`loopback`), everybody (`open`), or nobody (`closed`). An admin’s or owner’s credential always opens it.',
    read: oneOf('loopback', 'open', 'closed'),
  } satisfies Setting<'loopback' | 'open' | 'closed'>,
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
    secret: true,
    description: `Owner key to use on an empty ledger instead of a random one: ${API_KEY_FORM}. For automation.`,
    read: (given) =>
      parseApiKey(given) ? { value: given } : { problem: `must have the form ${API_KEY_FORM}` },
  } satisfies Setting<string>,
  PEPPER: {
    secret: true,
    description:
      'Secret that is hashed with every key, at least 32 characters; servers that share a ledger need the same one. Default: the file `pepper` in the data folder.',
    read: (given) =>
      given.length >= 32 ? { value: given } : { problem: 'must have at least 32 characters' },
  } satisfies Setting<string>,
  LOG_NAME: {
    default: 'precedent',
    description:
      'First part of the name of every signed log, `<name>/<pseudonym of the workspace>`. It stays for ever: proofs carry it.',
    read: (given) =>
      /^[\w.-]+(?:\/[\w.-]+)*$/.test(given) && given.length <= 100
        ? { value: given }
        : { problem: 'must be at most 100 letters, digits, dots, dashes and single slashes' },
  } satisfies Setting<string>,
  LOG_KEY: {
    description:
      'File with the Ed25519 key that signs the log (PKCS#8 PEM; former keys may follow it). Servers that share a ledger need the same one; without it they sign nothing. Default: `log-key.pem` in the data folder, made at the first start.',
    read: text,
  } satisfies Setting<string>,
  CHECKPOINT_SECONDS: {
    default: '10',
    description:
      'Seconds between two signed checkpoints of a log that has new events; 0 signs only where somebody asks for a proof.',
    read: number(0, 86_400),
  } satisfies Setting<number>,
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
  OIDC: {
    default: 'embedded',
    description:
      'Sign-in of people where `PRECEDENT_OIDC_ISSUER` names no provider: with accounts of this server (`embedded`) or not at all (`off`).',
    read: oneOf('embedded', 'off'),
  } satisfies Setting<'embedded' | 'off'>,
  OIDC_ISSUER: {
    description:
      'OpenID provider whose access tokens (signed JWTs) are taken, as it writes itself in the claim `iss`.',
    read: issuer,
  } satisfies Setting<string>,
  OIDC_AUDIENCE: {
    description:
      'What the claim `aud` of a token must name, separated by commas. Default: the address of the server, and the same with `/mcp`.',
    read: list((item) => /^\S+$/.test(item), 'names of this server'),
  } satisfies Setting<readonly string[]>,
  OIDC_SCOPE: {
    description:
      'Scope that a token must have. Default: `precedent` with accounts of this server, none with another provider.',
    read: (given) =>
      /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(given)
        ? { value: given }
        : { problem: 'must be one scope, without spaces' },
  } satisfies Setting<string>,
  OIDC_WORKSPACE_CLAIM: {
    default: 'precedent_workspace',
    description:
      'Claim that names the workspace of a person who belongs to several; the scope `workspace:<id>` does, too.',
    read: text,
  } satisfies Setting<string>,
  OIDC_JWKS_URL: {
    description: 'Where the provider’s public keys are, if its discovery document does not say so.',
    read: address,
  } satisfies Setting<string>,
  OIDC_KEYS: {
    description:
      'With accounts of this server: file with its private keys (a JSON Web Key Set), for several servers that share them. Default: `sign-in.keys.json` in the data folder, made at the first start.',
    read: text,
  } satisfies Setting<string>,
  OIDC_REGISTRATION: {
    default: 'off',
    description:
      'With accounts of this server: whether clients may register themselves (`on`); clients with a metadata document need not.',
    read: oneOf('off', 'on'),
  } satisfies Setting<'off' | 'on'>,
  MODEL_URL: {
    description:
      'A model that also reads plain texts for decisions: address of an OpenAI-compatible service, up to and without `/chat/completions`. What it finds is a candidate, never more. Default: no model.',
    read: address,
  } satisfies Setting<string>,
  MODEL: {
    description: 'Name of that model.',
    read: text,
  } satisfies Setting<string>,
  MODEL_KEY: {
    secret: true,
    description: 'Key for that service, if it wants one.',
    read: text,
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
    secret: true,
    description:
      'For the command line and the stdio server: key to use; default what `client.json` says.',
    read: text,
  } satisfies Setting<string>,
  TOOLSETS: {
    description: `For the stdio server: toolsets to offer, separated by commas: ${TOOLSETS.join(', ')}. Default: all that the key may use.`,
    read: list((item) => (TOOLSETS as readonly string[]).includes(item), 'names of toolsets'),
  } satisfies Setting<readonly string[]>,
  CONFIRM: {
    default: 'off',
    description:
      'Whether the MCP door has the user of the client confirm every call of a tool that governs (`governance`): reviews, conflicts, the ontology, datasets and runs. Clients that cannot ask are refused such calls.',
    read: oneOf('off', 'governance'),
  } satisfies Setting<'off' | 'governance'>,
  REQUEST_STATE_SECRET: {
    secret: true,
    description:
      'Secret that seals what MCP clients hold between two parts of a call, 32 characters or more; the same on all servers of one ledger. Default: a file in the data folder.',
    read: (given) =>
      Buffer.byteLength(given) < 32 ? { problem: 'must have 32 characters or more' } : text(given),
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

export const PREFIX = 'PRECEDENT_';

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
