import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { watched } from './children.js';
import { FILES } from './files.js';
import type { PeerKind } from './programs/peers.js';

/** Says why a peer cannot be had on this machine. */
export class NotAvailable extends Error {}

/** One of the peers compiles its driver. */
const INSTALL_MS = 900_000;

/** Installs what `peers/<kind>/package.json` names outside the project's own packages, once. The folder that it is in. */
export async function installPeer(kind: PeerKind): Promise<string> {
  const folder = join(FILES.peers, kind);
  const asked = readFileSync(new URL(`./peers/${kind}/package.json`, import.meta.url), 'utf8');
  const stamp = join(folder, 'installed.json');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === asked) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), asked);
  try {
    const options = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
    await promisify(execFile)('npm', options, { cwd: folder, timeout: INSTALL_MS });
  } catch (error) {
    throw new NotAvailable(`its packages could not be installed: ${lastLine(error)}`);
  }
  writeFileSync(stamp, asked);
  return folder;
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: Buffer | string; message: string };
  const lines = (stderr?.toString() ?? message).split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => !line.includes('A complete log')) ?? message;
}

export interface Postgres {
  /** Connection string. */
  at: string;
  end(): Promise<void>;
}

const READY_TRIES = 200;

/** A PostgreSQL server of its own with its own data, as its defaults make it: every commit is synced. */
export async function startPostgres(): Promise<Postgres> {
  const bin = postgresFolder();
  const user = unprivileged();
  const dir = mkdtempSync(join(tmpdir(), 'precedent-bench-pg-'));
  if (user) chownSync(dir, user.uid, user.gid);
  const data = join(dir, 'data');
  // Its socket is the only way in, and the folder is its user's alone.
  const options = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${dir}`];
  try {
    const how = { ...user, stdio: 'pipe' as const };
    execFileSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'precedent'], how);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw new NotAvailable(`initdb failed: ${lastLine(error)}`);
  }
  const child = watched(
    spawn(join(bin, 'postgres'), ['-D', data, '-c', 'max_connections=150', ...options], {
      ...user,
      stdio: 'ignore',
    }),
  );
  const end = async (): Promise<void> => {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGINT');
    await ended;
    rmSync(dir, { recursive: true, force: true });
  };
  for (let tries = 0; !(await accepts(join(dir, '.s.PGSQL.5432'))); tries++) {
    if (tries === READY_TRIES || child.exitCode !== null) {
      await end();
      throw new NotAvailable('postgres did not start');
    }
    await setTimeout(50);
  }
  return { at: `postgresql://precedent@localhost/postgres?host=${encodeURIComponent(dir)}`, end };
}

/** Where Debian and others put `initdb` and `postgres`: on the path, or by version. */
function postgresFolder(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => +b - +a) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  const found = folders.find((dir) =>
    ['initdb', 'postgres'].every((f) => existsSync(join(dir, f))),
  );
  if (found === undefined) throw new NotAvailable('no PostgreSQL server is installed');
  return found;
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (which: string): number =>
    Number(execFileSync('id', [which, 'postgres'], { stdio: 'pipe' }).toString());
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    throw new NotAvailable('PostgreSQL does not run as root, and there is no user postgres');
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const done = (accepted: boolean) => () => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}
