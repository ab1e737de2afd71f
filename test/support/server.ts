import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readClientFile } from '../../apps/server/src/client-file.js';

export interface RunningServer {
  url: string;
  /** The owner's, on a ledger that this start or an earlier one in the same folder created. */
  key: string;
  /** Its data folder; left behind for who wants to look at it or start on it again. */
  dir: string;
  process: ChildProcess;
  /** What it has said on stderr. */
  said(): string;
  /** Resolves with the exit code once the process is gone; null where a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const START_MS = 90_000;

/** The built server as a process of its own, on a free port. `npm test` builds before. */
export async function startServer(
  options: { env?: Readonly<Record<string, string>>; dir?: string } = {},
): Promise<RunningServer> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'precedent-server-')));
  const child = spawn(process.execPath, ['dist/apps/server/src/main.js'], {
    env: {
      ...plainEnvironment(),
      PRECEDENT_DATA: dir,
      PRECEDENT_PORT: '0',
      // Signs when it ends, not in the middle of a test that counts events.
      PRECEDENT_CHECKPOINT_SECONDS: '3600',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  const heard = listenTo(child);
  try {
    const url = await readyAt(heard, exited);
    return {
      url,
      key: await keyOf(heard, dir, url),
      dir,
      process: child,
      said: () => heard.err,
      stop,
    };
  } catch (error) {
    await stop('SIGKILL');
    throw error;
  }
}

/** This process's environment without what would change a program started in it. */
export function plainEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(?:PRECEDENT_|NODE_OPTIONS$|FORCE_COLOR$|NO_COLOR$)/.test(name),
    ),
  );
}

interface Heard {
  out: string;
  err: string;
}

function listenTo({ stdout, stderr }: ChildProcess): Heard {
  const heard = { out: '', err: '' };
  stdout?.on('data', (chunk: Buffer) => (heard.out += chunk.toString()));
  stderr?.on('data', (chunk: Buffer) => (heard.err += chunk.toString()));
  return heard;
}

async function readyAt(heard: Heard, exited: Promise<number | null>): Promise<string> {
  let ended = false;
  void exited.then(() => (ended = true));
  for (const start = performance.now(); performance.now() - start < START_MS; await delay(10)) {
    const url = /is ready at (\S+)\n/.exec(heard.out)?.[1];
    if (url !== undefined) return url;
    if (ended) break;
  }
  throw new Error(`the server ${ended ? 'ended before it' : 'never'} was ready: ${heard.err}`);
}

/** It says that it is ready before it has said and written all. */
async function keyOf(heard: Heard, dir: string, url: string): Promise<string> {
  for (let tries = 0; tries < 500; tries += 1) {
    const printed = /Owner key +(\S+)[^]*Paste this/.exec(heard.out)?.[1];
    if (printed !== undefined) return printed;
    const file = await readClientFile(dir);
    if (file?.url === url) return file.key;
    await delay(10);
  }
  throw new Error('the server gave no key');
}
