/**
 * Brings a checkout to what its lock file and sources ask for: installs when other packages are installed than
 * package-lock.json names; with `--build`, builds when dist was made from other sources. Does nothing otherwise.
 *
 * Runs on Node 20 with nothing installed. Writes to stderr only, a line a step; a failing step's output and exit
 * code are passed on. A step killed half-way leaves no stamp, so the next run does it again.
 */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const bin = join(modules, '.bin');
const installStamp = join(modules, '.precedent-setup');
const buildStamp = join(root, 'dist', '.precedent-build');
const windows = process.platform === 'win32';

/** What a build runs once the sources are compiled. */
const DESCRIBE = 'scripts/describe.mjs';
/** Every file that a build reads; changes elsewhere (docs, tests) build nothing. */
const BUILD_ROOTS = [
  'apps',
  'libs',
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  DESCRIBE,
];
const BUILD_CONFIG = /^tsconfig.*\.json$/;
const NOT_BUILT = /^(?:node_modules|dist)$|\.spec\.tsx?$/;
/** Without these a matching stamp means nothing. */
const RUNTIME = join(modules, 'node', 'bin', windows ? 'node.exe' : 'node');
const ENTRY = join(root, 'dist', 'apps', 'server', 'src', 'main.js');

const STEPS = {
  install: { label: 'npm ci', stamp: installStamp, due: installDue, run: install },
  build: { label: 'nest build', stamp: buildStamp, due: buildDue, run: build },
};

const lockDir = join(
  tmpdir(),
  `precedent-setup-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
);

const due = wanted().filter((step) => step.due());
if (due.length > 0) {
  const release = lock();
  process.on('exit', release);
  // Asked again: whoever held the lock may have done it meanwhile.
  for (const step of wanted()) if (step.due()) await perform(step);
}

function wanted() {
  return process.argv.includes('--build') ? [STEPS.install, STEPS.build] : [STEPS.install];
}

async function perform({ label, stamp, run }) {
  const started = performance.now();
  // Read before the step: a source that changes during a build is built next time.
  const content = stamp === installStamp ? lockHash() : sourcesHash();
  rmSync(stamp, { force: true });
  process.stderr.write(`setup: ${label} … `);
  const { code, why, output } = await run();
  const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  if (code === 0) {
    writeFileSync(stamp, content);
    process.stderr.write(`${seconds}\n`);
    return;
  }
  process.stderr.write(`failed after ${seconds} (${why})\n${output}`);
  process.exit(code);
}

function install() {
  // npm must not run on the Node that it is about to delete and lay anew.
  const path = (process.env.PATH ?? '').split(delimiter).filter((dir) => !dir.startsWith(modules));
  return execute('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], path);
}

async function build() {
  const path = [bin, ...(process.env.PATH ?? '').split(delimiter)];
  const compiled = await execute('nest', ['build'], path);
  return compiled.code === 0 ? execute('node', [DESCRIBE], path) : compiled;
}

/** Runs a program and keeps what it prints. A signal goes to the program, and the step ends when that has ended. */
function execute(command, args, path) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PATH: path.join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: windows,
  });
  if (child.pid !== undefined) writeFileSync(join(lockDir, 'program'), String(child.pid));
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (c) => chunks.push(c));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    const end = (code, why) => resolve({ code, why, output: Buffer.concat(chunks).toString() });
    child.on('error', (error) => end(1, error.message));
    child.on('close', (code, signal) => end(code ?? 1, signal ?? `exit code ${code}`));
  });
}

function installDue() {
  if (!existsSync(RUNTIME)) return true;
  return read(installStamp) !== lockHash() && !matchesRecord();
}

/** `npm ci` or `npm install` run by hand leaves no stamp of ours, but npm's own record of what lies in node_modules. */
function matchesRecord() {
  const record = read(join(modules, '.package-lock.json'));
  if (record === undefined) return false;
  const present = JSON.parse(record).packages;
  const asked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const same = Object.entries(asked).every(([path, wants]) => {
    const found = present[path];
    if (found) return found.version === wants.version && found.integrity === wants.integrity;
    // Not the checkout itself, and not what npm leaves out on another platform.
    return path === '' || wants.optional === true || wants.devOptional === true;
  });
  if (same) writeFileSync(installStamp, lockHash());
  return same;
}

function buildDue() {
  return !existsSync(ENTRY) || read(buildStamp) !== sourcesHash();
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Names and contents, not times: a checkout touches files that it does not change. */
function sourcesHash() {
  const hash = createHash('sha256');
  const configs = readdirSync(root).filter((name) => BUILD_CONFIG.test(name));
  for (const path of [...BUILD_ROOTS, ...configs].sort()) addTo(hash, path);
  return hash.digest('hex');
}

function addTo(hash, path) {
  const full = join(root, path);
  if (!existsSync(full)) return;
  if (statSync(full).isDirectory()) {
    for (const name of readdirSync(full).sort())
      if (!NOT_BUILT.test(name)) addTo(hash, `${path}/${name}`);
    return;
  }
  const bytes = readFileSync(full);
  hash.update(`${path}\n${bytes.length}\n`).update(bytes);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * One setup at a time for one checkout; waits for the other. The lock lies outside the checkout because `npm ci` empties
 * node_modules and the build empties dist. Returns what releases it.
 */
function lock() {
  const mine = `${process.pid} ${randomUUID()}`;
  const graves = [];
  for (let tries = 0; !take(mine); tries += 1) {
    const owner = read(join(lockDir, 'owner'));
    // A killed setup may have left its program running.
    const program = read(join(lockDir, 'program'));
    if (owner !== undefined && !isAlive(owner) && !isAlive(program)) graves.push(...bury(owner));
    else if (tries === 0) process.stderr.write('setup: waits for another one of this checkout\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  return () => {
    // Renamed first: deleted in place, it would be empty for a moment, and an empty one can be taken.
    graves.push(...bury(mine));
    for (const grave of graves) rmSync(grave, { recursive: true, force: true });
  };
}

/** A directory that is renamed into place comes with its owner: there is no moment in which a lock has none. */
function take(mine) {
  const prepared = `${lockDir}.${mine.split(' ')[1]}`;
  mkdirSync(prepared);
  writeFileSync(join(prepared, 'owner'), mine);
  try {
    renameSync(prepared, lockDir);
    return true;
  } catch {
    rmSync(prepared, { recursive: true });
    return false;
  }
}

/** Moves a dead owner's lock away. Of two that try, one fails: the grave bears the owner's name and is taken. */
function bury(owner) {
  const grave = `${lockDir}.dead.${owner.split(' ')[1]}`;
  try {
    renameSync(lockDir, grave);
    return [grave];
  } catch {
    return [];
  }
}

/** `who` begins with a process id. */
function isAlive(who) {
  if (who === undefined) return false;
  try {
    process.kill(Number(who.split(' ')[0]), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
