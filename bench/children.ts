import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Bench } from './bench.js';
import { FILES, OWNER_KEY } from './files.js';

/** A program of `programs/` in a process of its own. */
export interface Program {
  call<T>(operation: string, input?: unknown): Promise<T>;
  end(): Promise<void>;
}

export interface Server {
  port: number;
  pid: number;
  /** Until it said that it was ready. */
  startMs: number;
  end(): Promise<void>;
}

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

const running = new Set<ChildProcess>();

/** Ends whatever is still running; at the end, however that comes. */
export function endChildren(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Ended with the run, at the latest. */
export function watched(child: ChildProcess): ChildProcess {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('PRECEDENT_')),
  );

/** With `--profile`, what Node is told so that a subject leaves a CPU profile when it ends. */
function profiled(bench: Bench, name: string): string[] {
  return bench.profile === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${bench.profile}`, `--cpu-prof-name=${name}.cpuprofile`];
}

export async function startProgram(bench: Bench, name: string, profile = false): Promise<Program> {
  const child = watched(
    fork(fileURLToPath(new URL(`./programs/${name}.ts`, import.meta.url)), {
      execArgv: ['--import', FILES.hooks, ...(profile ? profiled(bench, name) : [])],
      env: environment(),
      serialization: 'advanced',
    }),
  );
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', ({ id, value, error }: Answer) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(new Error(`${name}: ${error}`));
  });
  child.once('exit', (code) => {
    for (const call of waiting.values()) call.reject(new Error(`${name} ended with code ${code}`));
  });
  let last = 0;
  return {
    call<T>(operation: string, input?: unknown) {
      const call = Promise.withResolvers<unknown>();
      waiting.set(++last, call);
      child.send({ id: last, operation, input });
      return call.promise as Promise<T>;
    },
    async end() {
      child.disconnect();
      if (isRunning(child)) await once(child, 'exit');
    },
  };
}

/** The built server on a ledger directory, reachable with `OWNER_KEY`. */
export async function startServer(bench: Bench, dir: string, name: string): Promise<Server> {
  const started = performance.now();
  const child = watched(
    spawn(process.execPath, [...profiled(bench, name), FILES.server], {
      // Where no `.env` is.
      cwd: dir,
      env: {
        ...environment(),
        PRECEDENT_DATA: dir,
        PRECEDENT_PORT: '0',
        PRECEDENT_BOOTSTRAP_KEY: OWNER_KEY,
        // One principal sends all there is.
        PRECEDENT_RATE_LIMIT: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const port = await readyPort(child);
  let ending = false;
  child.once('exit', (code, signal) => {
    if (!ending) bench.note(`${name}: the server ended by itself, ${signal ?? `code ${code}`}`);
  });
  return {
    port,
    pid: child.pid ?? 0,
    startMs: performance.now() - started,
    async end() {
      ending = true;
      child.kill('SIGTERM');
      if (isRunning(child)) await once(child, 'exit');
    },
  };
}

async function readyPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('the server has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^Precedent is ready at http:.*:(\d+)$/.exec(line)?.[1];
    if (port !== undefined) {
      child.stdout.resume();
      return Number(port);
    }
  }
  throw new Error('the server ended before it was ready');
}
