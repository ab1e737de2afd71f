/** What a refusal means to the caller; each door maps it to its own code once (HTTP status, exit code). */
export type RefusalKind =
  | 'invalid' // the request itself is wrong: correct it
  | 'unauthenticated' // no credential, or one that does not hold
  | 'forbidden' // known caller, not allowed
  | 'not_found' // absent, or not visible to this caller: the two are never told apart
  | 'conflict' // the state does not admit it: look again, then decide
  | 'key_reused' // an idempotency key came back with another body
  | 'too_large' // over a documented limit
  | 'rate_limited' // too many requests; `fix` says how long to wait
  | 'unavailable'; // cannot be served now; `fix` says what to wait for

export interface Issue {
  /** Where in the input, in dot and bracket form: `records[0].effective_from`. */
  path: string;
  problem: string;
}

export interface RefusalBody {
  /** Stable snake_case word that programs may switch on. */
  error: string;
  message: string;
  path?: string;
  issues: Issue[];
  /** What the caller can do about it. */
  fix?: string;
}

/** An expected "no": nothing was appended, and its words may be shown to the caller. Anything else that is thrown is a defect. */
export class Refusal extends Error {
  readonly kind: RefusalKind;
  readonly error: string;
  readonly path: string | undefined;
  readonly issues: readonly Issue[];
  readonly fix: string | undefined;

  constructor(
    kind: RefusalKind,
    error: string,
    message: string,
    more: { path?: string; issues?: readonly Issue[]; fix?: string } = {},
  ) {
    super(message);
    this.name = 'Refusal';
    this.kind = kind;
    this.error = error;
    this.path = more.path;
    this.issues = more.issues ?? [];
    this.fix = more.fix;
  }

  body(): RefusalBody {
    return {
      error: this.error,
      message: this.message,
      ...(this.path === undefined ? {} : { path: this.path }),
      issues: [...this.issues],
      ...(this.fix === undefined ? {} : { fix: this.fix }),
    };
  }
}

/** One wrong field; the most common refusal. */
export function invalid(path: string, problem: string, fix: string): Refusal {
  return new Refusal('invalid', 'invalid_arguments', `${path}: ${problem}`, {
    path,
    issues: [{ path, problem }],
    fix,
  });
}

/** For a `cursor` that no list of ours gave out. */
export function wrongCursor(): Refusal {
  return invalid('cursor', 'is none of ours', 'pass the next_cursor of the page before, unchanged');
}
