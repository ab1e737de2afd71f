/**
 * Everything that CI runs, each step even if one before it failed; the last lines say what came of each. With arguments:
 * Jest alone, with those arguments, on a build that is up to date. Exit code 0 only if all passed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const CACHE = 'node_modules/.cache/precedent';
const JEST_RESULTS = `${CACHE}/jest.json`;
const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);

const CRUISED = ['apps', 'libs', 'test', 'bench'].filter((name) => existsSync(join(root, name)));

const BUILD = 'node scripts/setup.mjs --build';
const STEPS = {
  build: BUILD,
  format: 'prettier --check --log-level warn .',
  lint: 'eslint --max-warnings 0 .',
  types: `tsc --noEmit --incremental --tsBuildInfoFile ${CACHE}/types.tsbuildinfo`,
  imports: `depcruise --config .dependency-cruiser.cjs ${CRUISED.join(' ')}`,
  'planted violations': 'node scripts/planted-violations.mjs',
};

const jestArguments = process.argv.slice(2);
process.exitCode = jestArguments.length > 0 ? selected(jestArguments) : everything();

function selected(args) {
  const built = command(BUILD);
  return jest(args) || built;
}

function everything() {
  mkdirSync(join(root, CACHE), { recursive: true });
  const outcomes = Object.entries(STEPS).map(([name, line]) => timed(name, () => command(line)));
  rmSync(join(root, JEST_RESULTS), { force: true });
  outcomes.push(timed('tests', () => jest(['--json', '--outputFile', JEST_RESULTS])));
  const failed = outcomes.some(({ code }) => code !== 0);
  const lines = outcomes.map(
    ({ name, code, seconds }) =>
      `${name.padEnd(20)}${code === 0 ? 'passed' : 'FAILED'}${seconds.toFixed(1).padStart(8)} s`,
  );
  process.stdout.write(`\n${lines.join('\n')}\n${tally()}\n`);
  return failed ? 1 : 0;
}

function timed(name, step) {
  process.stdout.write(`\n== ${name}\n`);
  const started = performance.now();
  return { name, code: step(), seconds: (performance.now() - started) / 1000 };
}

function command(line) {
  const [program, ...args] = line.split(' ');
  return run(program, args);
}

function jest(args) {
  return run('jest', args, { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' });
}

function run(program, args, env = {}) {
  const { status, error } = spawnSync(program, args, {
    cwd: root,
    env: { ...process.env, PATH, ...env },
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (error) process.stderr.write(`${program}: ${error.message}\n`);
  return status ?? 1;
}

/** One line that programs read. A test file that could not even be loaded counts as one failed test. */
function tally() {
  const results = jestResults();
  if (results === undefined) return '0 passed, 1 failed';
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const skipped = results.numPendingTests + results.numTodoTests;
  const rest = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${results.numPassedTests} passed, ${failed} failed${rest}`;
}

function jestResults() {
  try {
    return JSON.parse(readFileSync(join(root, JEST_RESULTS), 'utf8'));
  } catch {
    return undefined;
  }
}
