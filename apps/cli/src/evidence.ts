import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { parseVkeys, type Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { verifyReceipt } from '#transparency/receipt.js';
import type { Finding } from '#event-store/ledger-check.js';
import type { Pin } from '#ledger/index.js';
import { EXIT, Failure, unusable } from './failure.js';
import type { Stated } from './statements.js';

/** What somebody kept outside of the ledger, proved by its signatures. */
export interface Evidence {
  receipts: number;
  checkpoints: number;
  /** What the receipts say. */
  stated: Stated[];
  /** By the pseudonym of the workspace. */
  pins: ReadonlyMap<string, Pin[]>;
  /** The first that does not hold. */
  finding: Finding | undefined;
}

/** Verifier keys of a file that somebody outside of the ledger vouches for. */
export function keysFrom(file: string): Verifier[] {
  const text = read(file, '--keys');
  try {
    const keys = parseVkeys(text);
    if (keys.length > 0) return keys;
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw unusable('invalid_keys', `${file}: ${error.message}`, { path: '--keys', fix: KEYS_FIX });
  }
  throw unusable('invalid_keys', `${file} holds no key`, { path: '--keys', fix: KEYS_FIX });
}

const KEYS_FIX =
  'give a file of verifier keys, one a line, like log-keys.txt of a data folder; take it from where you trust it';

/** Proves receipts and checkpoints with `keys`, and says what they pin down of which log. */
export function gather(
  receipts: readonly string[],
  checkpoints: readonly string[],
  keys: readonly Verifier[],
): Evidence {
  const pins = new Map<string, Pin[]>();
  const evidence: Evidence = { receipts: 0, checkpoints: 0, stated: [], pins, finding: undefined };
  const add = (origin: string, pin: Pin): void => {
    const pseudonym = origin.slice(origin.lastIndexOf('/') + 1);
    pins.set(pseudonym, [...(pins.get(pseudonym) ?? []), pin]);
  };
  const prove = (from: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof ProofError)) throw error;
      evidence.finding ??= {
        at: from,
        what: error.message,
        expected: error.expected ?? 'a proof',
        found: error.found ?? 'none',
      };
    }
  };
  for (const from of receipts.flatMap(filesIn))
    prove(from, () => {
      const { statement, checkpoint } = verifyReceipt(
        receiptIn(read(from, '--receipts'), from),
        keys,
      );
      const [{ digest }] = statement.subject;
      const { index, origin } = statement.predicate;
      const said: Stated = { from, predicate: statement.predicate, position: undefined };
      const onFound = (position: number): void => {
        said.position = position;
      };
      add(origin, { kind: 'leaf', from, index, hash: digest.sha256, onFound });
      evidence.stated.push(said);
      add(origin, { kind: 'root', from, size: checkpoint.size, root: textOf(checkpoint.root) });
      evidence.receipts += 1;
    });
  for (const from of checkpoints)
    prove(from, () => {
      const { origin, size, root } = openCheckpoint(read(from, '--checkpoint'), keys);
      add(origin, { kind: 'root', from, size, root: textOf(root) });
      evidence.checkpoints += 1;
    });
  return evidence;
}

function textOf(root: Uint8Array): string {
  return Buffer.from(root).toString('base64');
}

/** The receipt alone, or what a server answered with the receipt in it. */
function receiptIn(text: string, from: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProofError('this is no receipt', { expected: 'JSON', found: from });
  }
  for (let depth = 0; depth < 3; depth += 1) {
    if (typeof value !== 'object' || value === null || 'payloadType' in value) break;
    value = (value as Record<string, unknown>)['receipt'];
  }
  return value;
}

/** A file, or every *.json below a folder, in the order of their names. */
function filesIn(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => join(path, name));
  } catch (error) {
    throw unreadable(path, '--receipts', error);
  }
}

function read(file: string, path: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, path, error);
  }
}

function unreadable(file: string, path: string, error: unknown): Failure {
  return new Failure(EXIT.unreachable, {
    error: 'unreadable_file',
    message: `${file} cannot be read: ${(error as Error).message}`,
    path,
    fix: 'give a file or folder that is there and that you may read',
  });
}
