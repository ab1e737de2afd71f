import { rename, rm, writeFile } from 'node:fs/promises';
import { Argument, type Command } from 'commander';
import type { LogReceipt } from '#decisions/contract-receipts.js';
import { restOf } from './api.js';
import { findServer } from './connection.js';
import { unusable } from './failure.js';
import { filled } from './options.js';
import { inline, outputFor, type Output, type OutputOptions } from './output.js';

interface Options extends OutputOptions {
  out?: string;
}

/** Path of the resource that each kind of receipt belongs to. */
const RESOURCE = { decision: 'decisions', conflict: 'conflicts', answer: 'answers' } as const;
type Kind = keyof typeof RESOURCE;

/** `receipt get`, below the verb that it is given. */
export function receiptGetVerb(receipt: Command): void {
  receipt
    .command('get')
    .summary('fetch the receipt of an approval, a resolved conflict or an answer')
    .description(
      'Fetches a receipt from the server. It proves offline that the event stands in the signed log: see "precedent receipt verify".',
    )
    .addArgument(new Argument('<kind>', 'what it proves').choices(Object.keys(RESOURCE)))
    .argument('<id>', 'id of the decision or conflict, call id of the answer', filled)
    .option('--out <file>', 'write it to this file instead of stdout', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent receipt get decision payment-terms.0123456789ab --out approval.json\n' +
        '  precedent receipt get answer call_0123456789abcdef0123456789abcdef\n' +
        '\nAn answer has a call id while the workspace captures answers. For one without, see "precedent ask --receipt".\n',
    )
    .action(get);
}

async function get(kind: Kind, id: string, { out, ...options }: Options): Promise<void> {
  const output = outputFor(options);
  const api = restOf(await findServer());
  const receipt = await api.get<LogReceipt>([RESOURCE[kind], id, 'receipt']);
  if (!output.readable) output.json('precedent.receipt-get/1', { receipt });
  else if (out === undefined) output.say([JSON.stringify(receipt, null, 2)]);
  if (out !== undefined) await saveReceipt(out, receipt, output);
}

/** Written whole or not at all. Rejects with a `Failure` where the file cannot be written. */
export async function saveReceipt(
  file: string,
  receipt: LogReceipt,
  output: Output,
): Promise<void> {
  const next = `${file}.${process.pid}.part`;
  try {
    await writeFile(next, `${JSON.stringify(receipt, null, 2)}\n`);
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw unusable('unwritable', `${file} cannot be written: ${(error as Error).message}`, {
      fix: 'name a file in a folder that exists and that you may write to',
    });
  }
  output.note(`The receipt of log index ${receipt.index} is in ${inline(file)}.`);
}
