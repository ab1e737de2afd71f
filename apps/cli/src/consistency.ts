import type { Command } from 'commander';
import { parseJson } from '#kernel/json.js';
import { fromBase64, toBase64 } from '#transparency/base64.js';
import { openCheckpoint, type SignedCheckpoint } from '#transparency/checkpoint.js';
import {
  consistencyProof,
  rootOf,
  verifyConsistency,
  type Consistency,
  type Hash,
} from '#transparency/merkle.js';
import type { Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import type { Receipt } from '#transparency/receipt.js';
import { parseTlogProof } from '#transparency/tlog-proof.js';
import { EXIT, Failure, unusable } from './failure.js';
import { keysFor, readGiven, readKeys } from './given.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import type { SignedLog, SignedLogs } from './signed-log.js';
import { openSource, withSource, type SourceOptions } from './source.js';
import { counted, field } from './words.js';

interface Options extends OutputOptions, SourceOptions {
  keys?: string;
  proof?: string;
  workspace?: string;
}

export function consistencyVerb(program: Command): void {
  withSource(
    program
      .command('consistency')
      .summary('prove that a later state of a log continues an earlier one')
      .description(
        'Checks that the log at NEW begins with the log at OLD, event for event, and prints the proof (RFC 6962). Each of the two is ' +
          'a file with a signed checkpoint (or a receipt, for the one in it), a number of events, or "latest". The proof comes from the ledger, or from --proof.',
      )
      .argument('<old>', 'checkpoint file or number of events', filled)
      .argument('<new>', 'checkpoint file, number of events or "latest"', filled),
  )
    .option(
      '--keys <file>',
      'verifier keys that you trust (default: those the ledger names)',
      filled,
    )
    .option(
      '--workspace <id>',
      'whose log, where numbers are given (default: the only one)',
      filled,
    )
    .option(
      '--proof <file>',
      'hashes of a proof, one a line: checks two checkpoint files without a ledger',
      filled,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent consistency january.checkpoint latest --data /mnt/copy --keys log-keys.txt\n' +
        '  precedent consistency 1200 4800 --json\n' +
        '  precedent consistency a.checkpoint b.checkpoint --proof proof.txt --keys log-keys.txt\n' +
        '\nExit code: 0 consistent, 1 not consistent or not signed, 2 wrong usage, 3 a file or ledger cannot be read,\n' +
        '4 the ledger does not reach that far.\n',
    )
    .action(consistency);
}

/** One end: what somebody signed, or how many events. */
type End = { note: string } | { size: number } | 'latest';

async function endOf(text: string): Promise<End> {
  if (text === 'latest') return text;
  if (/^\d{1,15}$/.test(text)) return { size: Number(text) };
  return { note: checkpointIn(await readGiven(text)) };
}

/** A receipt and a proof hold the checkpoint that they rest on. */
function checkpointIn(text: string): string {
  if (!text.startsWith('{'))
    return text.startsWith('c2sp.org/') ? parseTlogProof(text).checkpoint : text;
  const document = parseJson(text) as Partial<Receipt> & { receipt?: Partial<Receipt> };
  return parseTlogProof((document.receipt ?? document).tlog_proof ?? '').checkpoint;
}

/** A state of a log; `signed` where a key of the log vouches for it. */
interface State {
  size: number;
  root: Hash;
  origin: string | undefined;
  signed: boolean;
}

interface Found {
  older: State;
  newer: State;
  proof: readonly Hash[];
}

async function consistency(oldText: string, newText: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const [older, newer] = [await endOf(oldText), await endOf(newText)];
  const found =
    options.proof === undefined
      ? await fromLedger(older, newer, options)
      : await fromFiles(older, newer, options.proof, options.keys);
  verifyConsistency(claimOf(found));
  if (output.readable) output.say(consistentLines(found, output.paint));
  else output.json('precedent.consistency/1', documentOf(found));
}

/** Without a ledger: both ends are signed, and the proof is given. */
async function fromFiles(
  older: End,
  newer: End,
  proof: string,
  keyFile: string | undefined,
): Promise<Found> {
  if (keyFile === undefined || !isNote(older) || !isNote(newer))
    throw unusable(
      'incomplete_arguments',
      'a proof from a file needs two checkpoint files and keys',
      {
        path: '--proof',
        fix: 'give two checkpoint files and --keys, or leave --proof out and name a ledger',
      },
    );
  const keys = await readKeys(keyFile);
  const text = await readGiven(proof);
  return {
    ...sameLog(signedState(older.note, keys), signedState(newer.note, keys)),
    proof: hashLines(text).map((line) => fromBase64(line, 'a hash of the proof')),
  };
}

const isNote = (end: End): end is { note: string } => typeof end === 'object' && 'note' in end;

const hashLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

async function fromLedger(older: End, newer: End, options: Options): Promise<Found> {
  return onLedger('ledger', async () => {
    const source = await openSource(options);
    try {
      const keys = await keysFor(source, options.keys);
      const { onTrees } = await import('./signed-log.js');
      return await onTrees(source, (logs) => {
        const found = inLogs(logs, older, newer, keys, options.workspace);
        verifyConsistency(claimOf(found));
        return found;
      });
    } finally {
      await source.close();
    }
  });
}

function inLogs(
  logs: SignedLogs,
  older: End,
  newer: End,
  keys: readonly Verifier[],
  given: string | undefined,
): Found {
  const named = [older, newer].find(isNote);
  const log = named ? logs.from(signedState(named.note, keys).origin ?? '') : logs.chosen(given);
  const stateOf = (end: End): State =>
    isNote(end) ? signedState(end.note, keys) : stateAt(log, end, keys);
  const [from, to] = [stateOf(older), stateOf(newer)];
  if (newer === 'latest' && from.signed && from.size > to.size)
    throw new ProofError('the ledger ends before what was signed', {
      expected: `${from.size} events or more`,
      found: `${to.size}`,
    });
  const states = sameLog(from, to);
  assertWithin(log, states.newer.size);
  return { ...states, proof: consistencyProof(states.older.size, states.newer.size, log.read) };
}

function signedState(note: string, keys: readonly Verifier[]): State {
  const { size, root, origin }: SignedCheckpoint = openCheckpoint(note, keys);
  return { size, root, origin, signed: true };
}

/** As it was signed, else as the tree gives it. */
function stateAt(
  log: SignedLog,
  end: { size: number } | 'latest',
  keys: readonly Verifier[],
): State {
  const note = end === 'latest' ? log.newest() : log.noteAt(end.size);
  if (note !== undefined) return signedState(note, keys);
  if (end === 'latest') throw beyond('no checkpoint was signed yet');
  assertWithin(log, end.size);
  return { size: end.size, root: rootOf(end.size, log.read), origin: undefined, signed: false };
}

function assertWithin(log: SignedLog, size: number): void {
  if (size > log.size) throw beyond(`the log of this ledger has ${log.size} events, not ${size}`);
}

function beyond(message: string): Failure {
  return new Failure(EXIT.incomplete, {
    error: 'not_reached',
    message,
    fix: 'name a newer copy of the ledger, or a smaller number',
  });
}

function sameLog(older: State, newer: State): { older: State; newer: State } {
  const [a, b] = [older.origin, newer.origin];
  if (a !== undefined && b !== undefined && a !== b)
    throw new ProofError('the two checkpoints are of two logs', { expected: a, found: b });
  if (older.size > newer.size)
    throw unusable('wrong_order', `OLD has ${older.size} events and NEW ${newer.size}`, {
      path: 'old',
      fix: 'give the smaller one first',
    });
  if (older.size > 0) return { older, newer };
  throw unusable('nothing_to_prove', 'every log begins with no events: there is nothing to prove', {
    path: 'old',
    fix: 'give a checkpoint of 1 event or more',
  });
}

function claimOf({ older, newer, proof }: Found): Consistency {
  return {
    oldSize: older.size,
    newSize: newer.size,
    oldRoot: older.root,
    newRoot: newer.root,
    proof,
  };
}

function documentOf({ older, newer, proof }: Found): object {
  const shown = ({ size, root, signed }: State) => ({ size, root: toBase64(root), signed });
  return {
    consistent: true,
    origin: older.origin ?? newer.origin ?? null,
    old: shown(older),
    new: shown(newer),
    proof: proof.map(toBase64),
  };
}

function consistentLines({ older, newer, proof }: Found, paint: Paint): string[] {
  const origin = older.origin ?? newer.origin;
  const stateLine = (name: string, { size, root, signed }: State): string =>
    field(
      paint,
      name,
      `${counted(size, 'event')}, root ${toBase64(root)}, ${signed ? 'signed by the log' : 'not signed'}`,
    );
  return [
    paint.bold(`Consistent: the log of ${newer.size} events continues the one of ${older.size}`),
    ...(origin === undefined ? [] : [field(paint, 'log', inline(origin))]),
    stateLine('old', older),
    stateLine('new', newer),
    ...(proof.length === 0
      ? []
      : ['', paint.bold('Proof'), ...proof.map((hash) => `  ${toBase64(hash)}`)]),
  ];
}
