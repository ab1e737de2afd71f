import { InvalidArgumentError, type Command } from 'commander';
import { parseJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import type { SignedCheckpoint } from '#transparency/checkpoint.js';
import { leafHash } from '#transparency/merkle.js';
import { SIGNATURE_TYPE, type Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { answerDigest, verifyReceipt, type ReceiptPredicate } from '#transparency/receipt.js';
import { parseTlogProof, verifyTlogProof } from '#transparency/tlog-proof.js';
import { readGiven, readKeys } from './given.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { receiptGetVerb } from './receipt-get.js';
import { counted, field } from './words.js';

interface Options extends OutputOptions {
  keys: string;
  answer?: string;
  witnesses: number;
}

export function receiptVerb(program: Command): void {
  const receipt = program
    .command('receipt')
    .helpCommand(false)
    .summary('signed receipts: fetch one, verify one offline')
    .description(
      'A receipt proves that an answer, an approval or a resolved conflict stands in the signed log of its workspace.',
    );
  receiptGetVerb(receipt);
  receipt
    .command('verify')
    .summary('verify a receipt offline, with public keys alone')
    .description(
      'Checks the signature of a receipt, the signed checkpoint in it and the proof that the log holds the event. Needs no ' +
        'server and no ledger. Also takes what "precedent prove" prints.',
    )
    .argument('<file>', 'the receipt, an answer with its receipt, or a proof', filled)
    .requiredOption(
      '--keys <file>',
      'verifier keys of the log, and of witnesses, that you trust',
      filled,
    )
    .option(
      '--answer <file>',
      'the answer as JSON: it must be the one that the receipt is for',
      filled,
    )
    .option('--witnesses <n>', 'so many witnesses of these keys must have cosigned', whole, 0)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent receipt verify approval.json --keys log-keys.txt\n' +
        '  precedent receipt verify receipt.json --keys log-keys.txt --answer answer.json --json\n' +
        '  precedent prove 120 > event.tlog-proof && precedent receipt verify event.tlog-proof --keys log-keys.txt\n' +
        '\nExit code: 0 proved, 1 not proved, 2 wrong usage or keys that cannot be used, 3 a file cannot be read.\n',
    )
    .action(verify);
}

function whole(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a number, like 2.');
}

/** What was proved: an event by its header, or by what a receipt says of it. */
interface Proved {
  kind: string;
  /** What the signature or the header says; shown as it is. */
  claims: Readonly<Record<string, unknown>>;
  index: number;
  checkpoint: SignedCheckpoint;
  keyid: string | null;
  answer: 'matches' | 'not_compared';
}

async function verify(file: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const text = await readGiven(file);
  const answer = options.answer === undefined ? undefined : await readGiven(options.answer);
  const keys = await readKeys(options.keys);
  const proved = text.startsWith('c2sp.org/')
    ? ofProof(text, answer, keys)
    : ofReceipt(text, answer, keys);
  const witnesses = witnessesOf(proved.checkpoint);
  if (witnesses.length < options.witnesses)
    throw new ProofError('too few known witnesses cosigned the checkpoint', {
      expected: String(options.witnesses),
      found: String(witnesses.length),
    });
  if (output.readable) output.say(provedLines(proved, witnesses, output.paint));
  else output.json('precedent.receipt-verify/1', documentOf(proved, witnesses));
}

function ofProof(text: string, answer: string | undefined, keys: readonly Verifier[]): Proved {
  if (answer !== undefined)
    throw new ProofError('a proof of an event says nothing of an answer: give the receipt');
  const proof = parseTlogProof(text);
  if (!proof.extra)
    throw new ProofError(
      'the proof does not hold the event’s header, so what it proves is not known here',
    );
  const header = Buffer.from(proof.extra);
  const checkpoint = verifyTlogProof(proof, leafHash(header), keys);
  const claims = objectIn(header.toString('utf8'), 'the header of the event');
  return {
    kind: 'event',
    claims,
    index: proof.index,
    checkpoint,
    keyid: null,
    answer: 'not_compared',
  };
}

function ofReceipt(text: string, answer: string | undefined, keys: readonly Verifier[]): Proved {
  const document = objectIn(text, 'the receipt');
  const { statement, checkpoint, keyid } = verifyReceipt(document['receipt'] ?? document, keys);
  const { kind, index, ...claims } = statement.predicate;
  const given = answer === undefined ? answerBeside(document) : objectIn(answer, 'the answer');
  if (given) assertAnswer(given, statement.predicate);
  const compared = given === undefined ? 'not_compared' : 'matches';
  return { kind, claims: { ...claims }, index, checkpoint, keyid, answer: compared };
}

/** An answer that was saved with its receipt in it. */
function answerBeside(document: Record<string, unknown>): Record<string, unknown> | undefined {
  const { receipt, schema: _, ...rest } = document;
  return receipt !== undefined && Object.keys(rest).length > 0 ? document : undefined;
}

function assertAnswer(answer: object, { answer_sha256 }: ReceiptPredicate): void {
  const found = answerDigest(answer);
  if (answer_sha256 === found) return;
  throw new ProofError('the receipt is for another answer', {
    expected: `SHA-256 ${answer_sha256 ?? 'of no answer: it is no receipt for one'}`,
    found: `SHA-256 ${found}`,
  });
}

function objectIn(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new ProofError(`${what} is no JSON that can be compared: ${error.message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new ProofError(`${what} is no JSON object`);
}

interface Witness {
  name: string;
  cosigned_at: string;
}

function witnessesOf({ signatures }: SignedCheckpoint): Witness[] {
  return signatures
    .filter(({ verified, type }) => verified && type === SIGNATURE_TYPE.cosignature)
    .map(({ name, timestamp = 0 }) => ({ name, cosigned_at: timeOf(timestamp) }));
}

/** A witness may have signed any number. */
function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString();
}

function documentOf(proved: Proved, witnesses: readonly Witness[]): object {
  const { kind, index, checkpoint, keyid, answer, claims } = proved;
  const { origin, size, root } = checkpoint;
  return {
    proved: true,
    kind,
    origin,
    index,
    checkpoint: { size, root: Buffer.from(root).toString('base64') },
    signed_by: keyid,
    witnesses,
    answer,
    claims,
  };
}

function provedLines(proved: Proved, witnesses: readonly Witness[], paint: Paint): string[] {
  const { kind, index, checkpoint, keyid, answer, claims } = proved;
  const { origin, size } = checkpoint;
  return [
    paint.bold(`Proved: ${inline(kind.replaceAll('_', ' '))}, entry ${index} of ${inline(origin)}`),
    field(paint, 'checkpoint', `of ${counted(size, 'event')}, signed by the log`),
    ...(keyid === null ? [] : [field(paint, 'signed by', inline(keyid))]),
    ...witnesses.map(({ name, cosigned_at }) =>
      field(paint, 'witness', `${inline(name)}, ${cosigned_at}`),
    ),
    ...(answer === 'matches' ? [field(paint, 'answer', 'the one that the receipt is for')] : []),
    '',
    paint.bold(keyid === null ? 'The event' : 'What the receipt says'),
    ...Object.entries(claims)
      .filter(([name]) => name !== 'origin')
      .map(([name, value]) => field(paint, name.padEnd(18), textOf(value))),
  ];
}

function textOf(value: unknown): string {
  return inline(typeof value === 'string' ? value : JSON.stringify(value));
}
