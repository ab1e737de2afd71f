/**
 * Everything that CI runs, each step even if one before it failed; the last lines say what the tests proved and what came of
 * each step. With arguments: Jest alone, with those arguments, on a build that is up to date. Exit code 0 only if all passed.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runGroup } from './processes.mjs';
import { provedTable } from './proved.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const CACHE = 'node_modules/.cache/precedent';
const JEST_RESULTS = `${CACHE}/jest.json`;
const PROVED = `${CACHE}/proved.jsonl`;
const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
const LIMIT_MINUTES = 27;
/**
 * After its results are written Jest may stay for ever: Node's main thread waits at exit for a compiler thread that waits for
 * a garbage collection by the main thread (nodejs/node#54918).
 */
const EXIT_SECONDS = 20;

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
process.exitCode = await (jestArguments.length > 0 ? selected(jestArguments) : everything());

async function selected(args) {
  const built = await command(BUILD);
  return (await jest(args)).code || built;
}

async function everything() {
  mkdirSync(join(root, CACHE), { recursive: true });
  for (const file of [JEST_RESULTS, PROVED]) rmSync(join(root, file), { force: true });
  const outcomes = [];
  for (const [name, line] of Object.entries(STEPS))
    outcomes.push(await timed(name, () => command(line)));
  outcomes.push(await timed('tests', tests));
  const failed = outcomes.some(({ code }) => code !== 0);
  const lines = outcomes.map(
    ({ name, code, seconds }) =>
      `${name.padEnd(20)}${code === 0 ? 'passed' : 'FAILED'}${seconds.toFixed(1).padStart(8)} s`,
  );
  process.stdout.write(
    `\n${provedTable(join(root, PROVED))}${lines.join('\n')}\n${tally(jestResults())}\n`,
  );
  return failed ? 1 : 0;
}

async function timed(name, step) {
  process.stdout.write(`\n== ${name}\n`);
  const started = performance.now();
  return { name, code: await step(), seconds: (performance.now() - started) / 1000 };
}

async function command(line) {
  const [program, ...args] = line.split(' ');
  return (await run(program, args)).code;
}

function jest(args, env, watch) {
  const modules = { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' };
  return run('jest', args, { env: { ...modules, ...env }, watch });
}

/** What counts is what Jest has written, whatever became of its process after that. */
async function tests() {
  const started = performance.now();
  let written;
  const args = ['--json', '--outputFile', JEST_RESULTS, '--cacheDirectory', `${CACHE}/jest`];
  // What a test leaves behind, above all one that was killed, goes with this folder.
  const scratch = mkdtempSync(join(tmpdir(), 'precedent-tests-'));
  const { code, stopped } = await jest(args, { TMPDIR: scratch }, () => {
    if (written === undefined && jestResults()) written = performance.now();
    if (written !== undefined && performance.now() - written > EXIT_SECONDS * 1000)
      return `it has written its results and does not exit within ${EXIT_SECONDS} s`;
    if (performance.now() - started > LIMIT_MINUTES * 60_000)
      return `it has run for ${LIMIT_MINUTES} minutes, which is the limit`;
    return undefined;
  });
  try {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    process.stderr.write(`left in the temporary folder: ${error.message}\n`);
  }
  return stopped && jestResults()?.success ? 0 : code;
}

async function run(program, args, { env = {}, watch } = {}) {
  const end = await runGroup(program, args, {
    cwd: root,
    env: { ...process.env, PATH, ...env },
    watch,
  });
  if (end.error) process.stderr.write(`${program}: ${end.error}\n`);
  if (end.stopped) process.stderr.write(`\n!!! ${program} was killed: ${end.stopped}\n`);
  if (end.left.length > 0)
    process.stderr.write(`\n!!! left behind by ${program}, killed:\n${end.left.join('\n')}\n\n`);
  if (end.signal) process.exit(end.signal === 'SIGINT' ? 130 : 143);
  return end;
}

/** One line that programs read. A test file that could not even be loaded counts as one failed test. */
function tally(results) {
  if (results === undefined) return '0 passed, 1 failed';
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const skipped = results.numPendingTests + results.numTodoTests;
  const rest = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${results.numPassedTests} passed, ${failed} failed${rest}`;
}

/** Undefined until the file is complete. */
function jestResults() {
  try {
    return JSON.parse(readFileSync(join(root, JEST_RESULTS), 'utf8'));
  } catch {
    return undefined;
  }
}
