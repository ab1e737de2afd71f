import pc from 'picocolors';
import type { RefusalBody } from '#kernel/refusal.js';
import { escapeUnseen } from '#kernel/text.js';
import type { Failure } from './failure.js';

export interface OutputOptions {
  json?: boolean;
  quiet?: boolean;
  /** False with `--no-input`: nobody is there to answer. */
  input?: boolean;
}

export type Paint = ReturnType<typeof pc.createColors>;

/** Data goes to stdout, all else to stderr. No line is wrapped. */
export interface Output {
  /** Readable text is wanted, not JSON. */
  readonly readable: boolean;
  /** Progress and notes are wanted, and somebody is there to see them. */
  readonly watched: boolean;
  readonly paint: Paint;
  say(lines: readonly string[]): void;
  /** One JSON document on stdout, its version first. */
  json(schema: string, value: object): void;
  /** What helps a person and is no data: on stderr, only on a terminal, never with --quiet. */
  note(line: string): void;
}

/** NO_COLOR and TERM=dumb are picocolors' to read; colour never goes into a file or a pipe. */
function paintFor(stream: { isTTY?: boolean }): Paint {
  return pc.createColors(pc.isColorSupported && stream.isTTY === true);
}

export function outputFor({ json = false, quiet = false }: OutputOptions): Output {
  const watched = process.stderr.isTTY && !quiet;
  const dim = paintFor(process.stderr).dim;
  return {
    readable: !json,
    watched,
    paint: paintFor(process.stdout),
    say: (lines) => void process.stdout.write(lines.map((line) => `${line}\n`).join('')),
    json: (schema, value) => {
      process.stdout.write(`${jsonText({ schema, ...value })}\n`);
    },
    note: (line) => {
      if (watched) process.stderr.write(`${dim(line)}\n`);
    },
  };
}

/** A reader that has seen enough (`… | head`) is no failure. */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
}

/** Text from anywhere as part of one line: nothing in it moves the cursor, breaks the line or hides. */
export function inline(text: string): string {
  return escapeUnseen(text.replace(/\s+/gu, ' ').trim());
}

/** Text from anywhere as lines of its own, each of which the caller indents: none can pass for a line of ours. */
export function lines(text: string): string[] {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/u)
    .map((line) => escapeUnseen(line.replaceAll('\t', '  ')).trimEnd());
}

/** JSON in which unseen characters are spelled out: the same data, safe to look at. */
export function jsonText(value: object, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(/[^\n -~]/gu, (character) =>
    escapeUnseen(character) === character ? character : unitsOf(character),
  );
}

function unitsOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

const FIELD = 7;

/** The process ends with the failure's code once all is written; what was printed before stays valid. */
export function endWith(failure: Failure): void {
  sayProblem(failure.problem);
  process.exitCode = failure.exit;
}

/** A refusal for a person: what, where, every issue that says more, and what helps. */
function sayProblem(problem: RefusalBody): void {
  const paint = paintFor(process.stderr);
  const message = inline(problem.message);
  const field = (name: string, text: string): string => `  ${paint.dim(name.padEnd(FIELD))}${text}`;
  const issues = problem.issues
    .map((issue) => inline(issue.path === '' ? issue.problem : `${issue.path}: ${issue.problem}`))
    .filter((text) => text !== message);
  const written = [
    `${paint.red('precedent:')} ${message}`,
    field('error', inline(problem.error)),
    ...(problem.path === undefined || problem.path === ''
      ? []
      : [field('path', inline(problem.path))]),
    ...issues.map((text) => field('issue', text)),
    ...(problem.fix === undefined ? [] : [field('fix', inline(problem.fix))]),
  ];
  process.stderr.write(`${written.join('\n')}\n`);
}
