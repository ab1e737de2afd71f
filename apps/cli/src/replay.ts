import type { Command } from 'commander';
import type { ReplayOptions } from './replay-run.js';
import { filled } from './options.js';
import { withSource } from './source.js';

export function replayVerb(program: Command): void {
  withSource(
    program
      .command('replay')
      .summary('rebuild the read models as they were at a moment')
      .description(
        'Rebuilds every read model from the first event up to a moment and prints the SHA-256 of each table: the same on every machine, ' +
          'in every time zone and on every engine. Events are counted from 1, so that engines with other positions compare.',
      )
      .option(
        '--to <moment>',
        'last position, or the time up to which events count; a date is its first moment in UTC (default: the end)',
        filled,
      )
      .option('--out <folder>', 'keep the read models there, as read.sqlite', filled),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent replay\n  precedent replay --to 2024-06-30 --data /mnt/copy --out /tmp/june\n' +
        '  diff <(precedent replay --data a) <(precedent replay --bundle b)\n',
    )
    .action(async (options: ReplayOptions) => (await import('./replay-run.js')).replay(options));
}
