import type { Command } from 'commander';
import type { AnswersOptions } from './answers-run.js';
import { withRecord } from './record-options.js';

export function answersVerb(program: Command): void {
  withRecord(
    program
      .command('answers')
      .summary('which answers were given, and would they be different now')
      .description(
        'The answers that were kept in a period, to whom, and what the resolver says to the same questions now. An answer is kept where ' +
          'its question had a request_id, or while the workspace captures answers.',
      )
      .option('--from <time>', 'a date, an instant or a log position (default: the beginning)')
      .option('--to <time>', 'a date, an instant or a log position (default: the end)')
      .option('--by <principal>', 'only answers to this principal')
      .option('--kind <kind>', 'only answers to an agent, a person or a service')
      .option(
        '--changed',
        'only answers that would be different now, or that cannot be asked again',
      )
      .option('--ndjson', 'one JSON document a line, for a long result'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent answers --from 2024-01-01 --to 2024-02-01 --kind agent\n' +
        '  precedent answers --from 2024-01-01 --changed --data /mnt/copy\n',
    )
    .action(async (options: AnswersOptions) => (await import('./answers-run.js')).answers(options));
}
