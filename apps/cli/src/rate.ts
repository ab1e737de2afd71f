import { Argument, type Command } from 'commander';
import type { RateInput, RateReceipt } from '#decisions/contract-conflicts.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import { inline, type OutputOptions } from './output.js';
import { field, when } from './words.js';

interface Options extends OutputOptions {
  comment?: string;
}

export function rateVerb(program: Command): void {
  program
    .command('rate')
    .summary('say whether an answer was right')
    .description(
      'Rates an answer that was captured. Your latest rating of an answer counts. It changes no decision.',
    )
    .argument('<call-id>', 'as "precedent ask" shows it while answers are captured', filled)
    .addArgument(
      new Argument('<rating>', 'was it right?').choices(['correct', 'partly', 'incorrect']),
    )
    .option('--comment <text>', 'what was wrong, or missing', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent rate call_0123456789abcdef0123456789abcdef correct\n' +
        '  precedent rate call_0123456789abcdef0123456789abcdef partly --comment "the scope is missing"\n',
    )
    .action(rate);
}

function rate(
  id: string,
  rating: RateInput['rating'],
  { comment, ...options }: Options,
): Promise<void> {
  const body = { rating, ...present({ comment }) };
  return carryOut(
    options,
    'precedent.rate/1',
    (api) => api.post<RateReceipt>(['answers', id, 'ratings'], body),
    (receipt, paint) => [
      `${paint.bold(inline(receipt.call_id))} is rated ${inline(rating)}`,
      field(paint, 'recorded', when(receipt.recorded_at)),
    ],
  );
}
