import { InvalidArgumentError, Option, type Command } from 'commander';
import { restOf, type Api } from './api.js';
import { findServer } from './connection.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';

/** One exchange with the server, shown as text or as the JSON document `schema`. */
export async function carryOut<T extends object>(
  options: OutputOptions,
  schema: string,
  work: (api: Api) => Promise<T>,
  lines: (result: T, paint: Paint) => readonly string[],
): Promise<void> {
  const output = outputFor(options);
  const result = await work(restOf(await findServer()));
  if (output.readable) output.say(lines(result, output.paint));
  else output.json(schema, result);
  if ('key' in result) output.note('The key is shown this once: keep it now.');
}

/** A field of a request only where it was given. */
export function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function switched(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('Give on or off.');
}

export function seconds(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a number of seconds.');
}

export const KINDS = ['person', 'agent', 'service'] as const;
export const ROLES = ['member', 'approver', 'admin', 'owner'] as const;
export const MODES = ['reviewed', 'peer'] as const;

/** What a person signs in with at an OpenID provider. */
export interface IdentityOptions {
  issuer?: string;
  subject?: string;
}

export function withIdentity(command: Command): Command {
  return command
    .option('--issuer <address>', 'OpenID provider that a person signs in with', filled)
    .option('--subject <id>', 'his "sub" there', filled);
}

export function identityOf({ issuer, subject }: IdentityOptions): object | undefined {
  if (issuer === undefined && subject === undefined) return undefined;
  if (issuer === undefined || subject === undefined)
    throw new InvalidArgumentError('--issuer and --subject go together.');
  return { issuer, subject };
}

export const requestId = (): Option =>
  new Option(
    '--request-id <id>',
    'your own key for this request: sent again with it, it is done once',
  ).argParser(filled);

/** Rows in columns; the first line is their titles. */
export function table(paint: Paint, rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_title, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row, line) => {
    const text = row
      .map((cell, column) => cell.padEnd(column === row.length - 1 ? 0 : (widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
    return line === 0 ? paint.dim(text) : text;
  });
}

export const cell = (text: string | undefined): string =>
  text === undefined || text === '' ? '-' : inline(text);
