import type { Command } from 'commander';
import type { AsOfOptions } from './as-of-run.js';
import { filled, scopePart } from './options.js';
import { withRecord } from './record-options.js';

export function asOfVerb(program: Command): void {
  withRecord(
    program
      .command('as-of')
      .summary('what was decided on a topic at a moment, from the ledger itself')
      .description(
        'Answers from the files of a ledger what was in force for a topic at a moment of valid time, as far as the ledger knew at a ' +
          'moment of recorded time: the same answer that a server gives, with the approvals and the hashes that it rests on. Nothing is ' +
          'searched: a name that means no topic gets no suggestions.',
      )
      .argument('<topic>', 'id, name or alias of a topic', filled)
      .option('--valid <time>', 'what held then? A date or an instant (default: now)')
      .option('--known <time>', 'what was known then? A date, an instant or a log position')
      .option('--scope <key=value>', 'the case asked about; repeat it for more', scopePart),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent as-of "Use PostgreSQL" --valid 2024-01-01\n' +
        '  precedent as-of log-retention --valid 2024-01-01 --known 2024-06-30 --data /mnt/copy\n',
    )
    .action(async (topic: string, options: AsOfOptions) =>
      (await import('./as-of-run.js')).asOf(topic, options),
    );
}
