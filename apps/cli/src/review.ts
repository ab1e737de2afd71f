import { Argument, type Command } from 'commander';
import type { ReviewInput, ReviewReceipt } from '#decisions/contract-review.js';
import { carryOut, present } from './carry-out.js';
import { collected, filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { field, section } from './words.js';

interface Options extends OutputOptions {
  reason: string;
  contentHash?: string;
  supersedes?: string[];
  supersededBy?: string;
  effectiveFrom?: string;
  effectiveTo?: string;
  topic?: string;
}

const ACTIONS = ['approve', 'reject', 'revoke', 'retract'] as const;

export function reviewVerb(program: Command): void {
  program
    .command('review')
    .summary('approve, reject or retract a candidate, revoke a decision')
    .description(
      'Approves, rejects or retracts a candidate, or revokes an approved decision. Always with a reason, which is recorded.',
    )
    .argument('<decision-id>', 'as "precedent pending" shows it', filled)
    .addArgument(new Argument('<action>', 'what to do').choices(ACTIONS))
    .requiredOption('--reason <text>', 'why', filled)
    .option(
      '--content-hash <hash>',
      'approve only what you inspected: refused if it is another by now',
    )
    .option(
      '--supersedes <id>',
      'approve: a decision that this one replaces; repeat it for more',
      collected,
    )
    .option('--superseded-by <id>', 'approve: the decision that already replaced this one')
    .option('--effective-from <date>', 'approve: start of validity; revoke: when it ceases to hold')
    .option('--effective-to <date>', 'approve: end of validity')
    .option('--topic <name>', 'approve: the topic of a candidate that has none yet')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent review adr-0005-use-kafka.0123456789ab approve --reason "agreed on Monday"\n' +
        '  precedent review adr-0002-use-redis.0123456789ab revoke --reason "no longer run" --effective-from 2026-01-01\n',
    )
    .action(review);
}

function review(id: string, action: ReviewInput['action'], options: Options): Promise<void> {
  const body = {
    action,
    reason: options.reason,
    ...present({
      content_hash: options.contentHash,
      supersedes: options.supersedes,
      superseded_by: options.supersededBy,
      effective_from: options.effectiveFrom,
      effective_to: options.effectiveTo,
      topic: options.topic,
    }),
  };
  return carryOut(
    options,
    'precedent.review/1',
    (api) => api.post<ReviewReceipt>(['decisions', id, 'reviews'], body),
    receiptLines,
  );
}

function receiptLines(receipt: ReviewReceipt, paint: Paint): string[] {
  return [
    `${paint.bold(inline(receipt.decision_id))} is now ${paint.green(inline(receipt.state))}`,
    field(paint, 'topic', inline(receipt.topic)),
    field(paint, 'position', inline(receipt.position)),
    ...section(
      paint,
      'It contradicts a decision in force; conflicts opened',
      receipt.conflicts_opened.map((conflict) => [`  ${inline(conflict)}`]),
    ),
  ];
}
