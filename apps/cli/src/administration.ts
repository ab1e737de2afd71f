import { InvalidArgumentError, Option, type Command } from 'commander';
import { carryOut } from './carry-out.js';
import { filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { counted } from './words.js';

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

interface Page {
  items: object[];
  next_cursor?: string;
}

/** What of a list is asked for and how it is shown: a line for each item, under the titles of its columns. */
interface Listing<T> {
  schema: string;
  path: readonly string[];
  query?: Readonly<Record<string, string | undefined>>;
  what: string;
  columns: Readonly<Record<string, (item: T) => string>>;
}

/** The whole list, page after page. */
export function showList<T extends Page>(
  options: OutputOptions,
  { schema, path, query, what, columns }: Listing<T['items'][number]>,
): Promise<void> {
  return carryOut(
    options,
    schema,
    (api) =>
      allPages(
        (cursor, limit) => api.get<T>(path, { ...query, cursor, limit }),
        (all, page) => all.items.push(...page.items),
      ),
    ({ items }, paint) => [
      paint.bold(counted(items.length, what)),
      ...table(paint, [
        Object.keys(columns),
        ...items.map((item) => Object.values(columns).map((text) => text(item))),
      ]),
    ],
  );
}

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
