import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { unusable, type Failure } from './failure.js';

/** What somebody wrote for a verb: a file, or `-` for standard input. Each refusal says `fix`. */
export async function readInput(file: string, fix: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw badInput('unreadable', file, 'cannot be read', error, fix);
  }
}

/** `is`: what the text is not where it is no JSON. */
export function jsonInput(file: string, given: string, is: string, fix: string): unknown {
  try {
    return JSON.parse(given);
  } catch (error) {
    throw badInput('invalid_json', file, is, error, fix);
  }
}

export function badInput(
  code: string,
  file: string,
  problem: string,
  cause: unknown,
  fix: string,
): Failure {
  return unusable(code, `${file} ${problem}`, {
    path: file,
    issues: [{ path: file, problem: cause instanceof Error ? cause.message : String(cause) }],
    fix,
  });
}
