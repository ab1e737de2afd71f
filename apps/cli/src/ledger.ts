import { LedgerDamage } from '#event-store/ledger-check.js';
import { Refusal } from '#kernel/refusal.js';
import { EXIT, Failure, type ExitCode } from './failure.js';
import { interruption } from './interruption.js';

/** `--data`, else what the settings say. */
export async function dataFolder(given: string | undefined): Promise<string> {
  const { commandLineSettings } = await import('./settings.js');
  return given ?? commandLineSettings().DATA;
}

/**
 * Runs what works on files of a ledger, with the exit codes of an auditor: damage is a failed check (1), a file or folder that is in
 * the way wrong usage (2), a ledger that cannot be read or used now unreadable (3), any other end of the work incomplete (4).
 */
export async function onLedger<T>(what: Worked, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(what, error);
  }
}

/** `export`: of a ledger, and what was begun of it is gone on with. */
type Worked = 'ledger' | 'backup' | 'bundle' | 'export';

function asFailure(what: Worked, error: unknown): unknown {
  const left =
    what === 'export' ? 'the same command goes on where it was' : 'nothing is left of it';
  if (interruption.aborted)
    return new Failure(EXIT.interrupted, { error: 'interrupted', message: `interrupted: ${left}` });
  if (error instanceof LedgerDamage) return damaged(what === 'export' ? 'ledger' : what, error);
  if (error instanceof Refusal) return new Failure(exitOf(error), error.body());
  return isOfSystem(error) ? unfinished(error, left) : error;
}

function damaged(what: Exclude<Worked, 'export'>, { finding }: LedgerDamage): Failure {
  const { at, what: check, expected, found } = finding;
  return new Failure(EXIT.refused, {
    error: `damaged_${what}`,
    message: `the ${what} is damaged at ${at}: ${check} should be ${expected} and is ${found}`,
    path: at,
    issues: [
      { path: `${at}, expected`, problem: expected },
      { path: `${at}, found`, problem: found },
    ],
    fix:
      what === 'backup' || what === 'bundle'
        ? `use another ${what}; nothing was restored`
        : 'restore the last backup into an empty folder, and keep this folder for whoever looks into it',
  });
}

function exitOf({ kind, error }: Refusal): ExitCode {
  if (error === 'unfinished_bundle') return EXIT.incomplete;
  return kind === 'unavailable' || kind === 'not_found' ? EXIT.unreachable : EXIT.usage;
}

/** Errors of the operating system and of SQLite: a full disk, a folder that may not be written. Others are defects. */
function isOfSystem(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, errcode, syscall } = error as {
    code?: unknown;
    errcode?: unknown;
    syscall?: unknown;
  };
  return typeof errcode === 'number' || (typeof code === 'string' && typeof syscall === 'string');
}

function unfinished(error: Error, left: string): Failure {
  const failure = new Failure(EXIT.incomplete, {
    error: 'unfinished',
    message: `it could not be finished, and ${left}: ${error.message}`,
    fix: 'see that the folder exists, may be written and has room, then run the command again',
  });
  failure.cause = error;
  return failure;
}
