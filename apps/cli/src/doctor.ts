import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { KeptKeys } from '#event-store/sqlite-keys-backup.js';
import { findServer } from './connection.js';
import { EXIT, Failure } from './failure.js';
import { dataFolder } from './ledger.js';
import { inline, outputFor, type Output, type OutputOptions } from './output.js';
import { counted } from './words.js';

interface Server {
  url: string;
  /** What it says of itself; absent where it does not answer. */
  ready?: object;
}

const PATIENCE_MS = 5_000;

export function doctorVerb(program: Command): void {
  program
    .command('doctor')
    .summary('every setting, its value and where it comes from')
    .description(
      'Shows each setting as this folder and environment give it, what is wrong with it, and whether the server answers. Secrets are not shown.',
    )
    .addHelpText('after', '\nExamples:\n  precedent doctor\n  precedent doctor --json\n')
    .action(examine);
}

async function examine(options: OutputOptions): Promise<void> {
  const output = outputFor(options);
  const { shownSettings } = await import('./settings.js');
  const settings = shownSettings();
  const server = settings.some((s) => s.problem) ? undefined : await probed();
  const keys = settings.some((s) => s.problem) ? undefined : await keysHere();
  const found = {
    node: process.versions.node,
    env_file: existsSync('.env'),
    settings,
    ...(keys ? { keys } : {}),
  };
  if (output.readable) say(output, found, server);
  else output.json('precedent.doctor/1', { ...found, ...(server ? { server } : {}) });
  const wrong = settings.filter((s) => s.problem);
  if (wrong.length > 0)
    throw new Failure(EXIT.usage, {
      error: 'invalid_settings',
      message: `${counted(wrong.length, 'setting')} cannot be used`,
      issues: wrong.map(({ name, problem = '' }) => ({ path: name, problem })),
      fix: 'correct or remove them; docs/operations.md lists all settings',
    });
}

/** Keys of sealed texts in the data folder; undefined where there is no such file. */
async function keysHere(): Promise<KeptKeys | undefined> {
  const { keysIn } = await import('#event-store/sqlite-keys-backup.js');
  return keysIn(await dataFolder(undefined));
}

/** The server that the settings name; undefined where they name none. A key is not needed, and not sent. */
async function probed(): Promise<Server | undefined> {
  let url: string;
  try {
    ({ url } = await findServer());
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
  try {
    const response = await fetch(`${url}/health/ready`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
      redirect: 'error',
    });
    return { url, ready: (await response.json()) as object };
  } catch {
    return { url };
  }
}

function say(
  output: Output,
  found: {
    node: string;
    settings: { name: string; value?: string; from: string; problem?: string }[];
    keys?: KeptKeys;
  },
  server: Server | undefined,
): void {
  const width = Math.max(...found.settings.map(({ name }) => name.length));
  const { paint } = output;
  output.say([
    `${paint.bold('Node.js')} ${found.node}`,
    paint.bold('Settings'),
    ...found.settings.map(({ name, value = '', from, problem }) => {
      const text = `  ${name.padEnd(width)}  ${inline(value)} ${paint.dim(`(${from})`)}`;
      return problem === undefined ? text : `${text} ${paint.red(problem)}`;
    }),
    `${paint.bold('Keys of sealed texts')}  ${found.keys ? `${found.keys.keys}, and ${found.keys.erased} destroyed` : 'none in the data folder'}`,
    `${paint.bold('Server')}  ${server ? `${inline(server.url)}: ${stateOf(server)}` : 'none is known here'}`,
  ]);
}

function stateOf({ ready }: Server): string {
  if (!ready) return 'does not answer';
  return 'status' in ready && typeof ready.status === 'string' ? inline(ready.status) : 'answers';
}
