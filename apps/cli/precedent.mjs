#!/usr/bin/env node
/** The `precedent` command: finds the runtime and the build, says in one line which of them is missing, hands over. */
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDS = 24;
/** Exit code of a command that could not start. */
const NOT_SET_UP = 2;
const REMEDY = 'run "npm start" or "npm run build" once';

const self = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(dirname(self)));
const runtime = join(
  root,
  'node_modules',
  'node',
  'bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
);
const program = join(root, 'dist', 'apps', 'cli', 'src', 'main.js');

if (Number.parseInt(process.versions.node, 10) < NEEDS) {
  if (existsSync(runtime) && realpathSync(runtime) !== realpathSync(process.execPath)) handOver();
  else refuse(`needs Node.js ${NEEDS} or newer, this is ${process.versions.node}: ${REMEDY}`);
} else if (existsSync(program)) {
  // A third of the time of a short command is spent on compiling.
  module.enableCompileCache();
  await import(pathToFileURL(program).href);
} else {
  refuse(`is not built: ${REMEDY}`);
}

function refuse(why) {
  process.stderr.write(`precedent ${why} (in ${root})\n`);
  process.exitCode = NOT_SET_UP;
}

/** Same arguments and streams under the project's own Node; ends as that one ends. */
function handOver() {
  const child = spawn(runtime, [self, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // A terminal sends it to both; the child decides what it means.
  process.on('SIGINT', () => undefined);
  child.on('error', (error) => refuse(`could not start its own Node.js: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
