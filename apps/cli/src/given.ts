import { readFile } from 'node:fs/promises';
import { parseVkeys, type Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { EXIT, Failure, unusable } from './failure.js';
import type { AuditSource } from './source.js';

/** Text of a file that was named on the command line. Rejects with a `Failure` where it cannot be read. */
export async function readGiven(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Failure(EXIT.unreachable, {
      error: 'unreadable_file',
      message: `${file} cannot be read: ${(error as Error).message}`,
      path: file,
      fix: 'name a file that exists and that you may read',
    });
  }
}

/** Verifier keys of a file, one a line; a wrong one is wrong usage, not a failed check. */
export async function readKeys(file: string): Promise<Verifier[]> {
  const text = await readGiven(file);
  try {
    const keys = parseVkeys(text);
    if (keys.length > 0) return keys;
    throw new ProofError('it holds no key');
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw unusable('invalid_keys', `${file} is no list of verifier keys: ${error.message}`, {
      path: '--keys',
      fix: 'give a file like log-keys.txt: <name>+<key id>+<base64>, one a line',
    });
  }
}

/** The keys that were given, else those which the ledger names itself. */
export async function keysFor(source: AuditSource, file: string | undefined): Promise<Verifier[]> {
  return file === undefined ? parseVkeys(await source.vkeys()) : readKeys(file);
}
