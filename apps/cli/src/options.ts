import { InvalidArgumentError, type Command } from 'commander';

export interface AxesOptions {
  scope?: Record<string, string>;
  asOf?: string;
  knownAt?: string;
}

/** Both time axes and the scope: every read of decisions takes them. */
export function withAxes(command: Command): Command {
  return command
    .option('--scope <key=value>', 'the case asked about; repeat it for more', scopePart)
    .option('--as-of <date>', 'what held then? A date or an instant (default: now)')
    .option('--known-at <time>', 'what was known then? A date, an instant or a log position');
}

/** Collects `--scope team=payments --scope region=eu`. */
export function scopePart(
  text: string,
  before: Record<string, string> = {},
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.+)$/su.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Give it as key=value, like region=eu.');
  if (name in before) throw new InvalidArgumentError(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

export function collected(text: string, before: readonly string[] = []): string[] {
  return [...before, filled(text)];
}

/** An argument that says nothing is a slip of the shell, not a question. */
export function filled(text: string): string {
  if (/\S/.test(text)) return text;
  throw new InvalidArgumentError('It is empty.');
}

/** As the fields of a request; what was not given is absent. */
export function axesOf({ scope, asOf, knownAt }: AxesOptions) {
  return {
    ...(scope === undefined ? {} : { scope }),
    ...(asOf === undefined ? {} : { as_of: asOf }),
    ...(knownAt === undefined ? {} : { known_at: knownAt }),
  };
}

/** The same for a query string. */
export function axesQuery(options: AxesOptions): Record<string, string> {
  const { scope = {}, ...times } = axesOf(options);
  const parts = Object.entries(scope).map(([name, value]) => [`scope[${name}]`, value] as const);
  return { ...times, ...Object.fromEntries(parts) };
}

export interface MadeOptions {
  since?: string;
  until?: string;
}

/** The time in which decisions were made. */
export function withMade(command: Command): Command {
  return command
    .option(
      '--since <day>',
      'decided from then on: a date or an instant; today and yesterday mean that day alone',
      filled,
    )
    .option('--until <day>', 'decided before then', filled);
}

export function madeQuery({ since, until }: MadeOptions) {
  return {
    ...(since === undefined ? {} : { decided_since: since }),
    ...(until === undefined ? {} : { decided_until: until }),
  };
}
