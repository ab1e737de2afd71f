import { Refusal, type RefusalBody } from '#kernel/refusal.js';
import { ProofError } from '#transparency/proof-error.js';

/** What the process ends with; scripts rely on it. */
export const EXIT = {
  ok: 0,
  /** A check failed, or the server refused. */
  refused: 1,
  /** What was given on the command line or in the settings cannot be used; nothing was sent. */
  usage: 2,
  /** The server cannot be reached, or what answers is no Precedent server. */
  unreachable: 3,
  /** Begun, and its end is not known here. */
  incomplete: 4,
  notAuthorised: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command: with which code, and what is said. `problem` holds whatever else the server's own body has. */
export class Failure extends Error {
  readonly exit: ExitCode;
  readonly problem: RefusalBody;

  constructor(
    exit: ExitCode,
    problem: Omit<RefusalBody, 'issues'> & { issues?: RefusalBody['issues'] },
  ) {
    super(problem.message);
    this.name = 'Failure';
    this.exit = exit;
    this.problem = { ...problem, issues: problem.issues ?? [] };
  }
}

/** Refused on this side, before anything was sent. */
export function unusable(
  error: string,
  message: string,
  more: Omit<RefusalBody, 'error' | 'message' | 'issues'> & { issues?: RefusalBody['issues'] },
): Failure {
  return new Failure(EXIT.usage, { error, message, ...more });
}

/** Anything that was thrown, as the failure to end with; undefined for a defect of this program. */
export function failureOf(thrown: unknown): Failure | undefined {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof ProofError) return unproved(thrown);
  return thrown instanceof Refusal ? new Failure(EXIT.usage, thrown.body()) : undefined;
}

function unproved({ message, expected, found }: ProofError): Failure {
  const issues = [
    ...(expected === undefined ? [] : [{ path: 'expected', problem: expected }]),
    ...(found === undefined ? [] : [{ path: 'found', problem: found }]),
  ];
  return new Failure(EXIT.refused, {
    error: 'not_proved',
    message: `not proved: ${message}`,
    issues,
  });
}
