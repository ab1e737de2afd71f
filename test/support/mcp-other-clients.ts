import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of others that speak MCP. Too large to be dependencies: installed when they are first needed, at these versions. */
const CLIENTS = {
  '@modelcontextprotocol/inspector': '2.12.0',
  'mcp-remote': '0.15.1',
  mcporter: '0.12.3',
} as const;
export type ClientName = keyof typeof CLIENTS;

const FOLDER = join(process.cwd(), 'node_modules/.cache/precedent/clients');
const INSTALL_MS = 280_000;

/** True once all are there; false, with a line on stdout, where the registry cannot be reached. */
export async function otherClients(): Promise<boolean> {
  const manifest = join(FOLDER, 'package.json');
  const wanted = JSON.stringify({ private: true, dependencies: CLIENTS });
  if (existsSync(manifest) && readFileSync(manifest, 'utf8') === wanted) return true;
  const fresh = `${FOLDER}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  writeFileSync(join(fresh, 'package.json'), '{"private":true}');
  const specs = Object.entries(CLIENTS).map(([name, version]) => `${name}@${version}`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--no-save'];
  const { code, err } = await run('npm', ['install', ...flags, ...specs], {
    cwd: fresh,
    timeout: INSTALL_MS,
  });
  if (code !== 0) {
    process.stdout.write(`SKIPPED: the clients of others could not be installed: ${err.trim()}\n`);
    return false;
  }
  writeFileSync(join(fresh, 'package.json'), wanted);
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(fresh, FOLDER);
  return true;
}

/** The program of a client, for `process.execPath`. */
export function programOf(name: ClientName, bin: string): string {
  const folder = join(FOLDER, 'node_modules', name);
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  const { bin: bins } = JSON.parse(text) as { bin: Record<string, string> };
  return join(folder, bins[bin] ?? '');
}

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeout?: number } = {},
): Promise<Ran> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      err += error.message;
      resolve(null);
    });
    child.on('close', resolve);
  });
  return { code, out, err };
}
