import { CommanderError, type Command } from 'commander';
import { EXIT, failureOf, unusable, type Failure } from './failure.js';
import { heedInterrupts } from './interruption.js';
import { endWith, outputFor, surviveClosedPipes } from './output.js';
import { build } from './program.js';

/** Sets the exit code and lets the process end by itself, so that all output is written. */
async function main(): Promise<void> {
  surviveClosedPipes();
  heedInterrupts();
  const program = build();
  try {
    await program.parseAsync();
  } catch (thrown) {
    const failure = thrown instanceof CommanderError ? misused(program, thrown) : failureOf(thrown);
    if (failure) end(failure);
    else if (!(thrown instanceof CommanderError)) throw thrown;
  }
}

/** Undefined where commander only ends what it was asked for: help or version. */
function misused(program: Command, thrown: CommanderError): Failure | undefined {
  if (thrown.exitCode === 0) return undefined;
  const verb = program.commands.find((c) => c.name() === process.argv[2]);
  // Called without a verb, it has printed its help instead of a complaint.
  const said = thrown.code === 'commander.help' ? 'a command is missing' : thrown.message;
  return unusable('usage', said.replace(/^error: /, ''), {
    fix: `see ${['precedent', ...(verb ? [verb.name()] : []), '--help'].join(' ')}`,
  });
}

function end(failure: Failure): void {
  if (process.argv.includes('--json'))
    outputFor({ json: true }).json('precedent.problem/1', failure.problem);
  endWith(failure);
}

main().catch((defect: unknown) => {
  process.stderr.write(
    `${defect instanceof Error ? (defect.stack ?? defect.message) : String(defect)}\n`,
  );
  process.exitCode = EXIT.refused;
});
