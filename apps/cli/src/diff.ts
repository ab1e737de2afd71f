import { Argument, type Command } from 'commander';
import type { DiffOptions } from './diff-run.js';
import { filled } from './options.js';
import { withRecord } from './record-options.js';

export function diffVerb(program: Command): void {
  withRecord(
    program
      .command('diff')
      .summary('what changed between two moments')
      .description(
        'What was recorded after the moment A and up to the moment B: decisions, conflicts, versions of the ontology, members, roles, ' +
          'keys, erasures and legal holds. With --valid: which decisions were in force at A and which at B, as far as is known.',
      )
      .addArgument(new Argument('<a>', 'a date, an instant or a log position'))
      .addArgument(
        new Argument('[b]', 'the later moment (default: the end of the log; now with --valid)'),
      )
      .option('--topic <name>', 'only this topic: its id, name or alias', filled)
      .option('--valid', 'compare what was in force, not what was recorded')
      .option('--known <time>', 'with --valid: as far as was known then')
      .option('--ndjson', 'one JSON document a line, for a long result'),
  )
    .addHelpText(
      'after',
      '\nA date is the first moment of that day in the zone of the workspace.\n' +
        '\nExamples:\n  precedent diff 2024-01-01 2024-02-01\n  precedent diff 120 --topic log-retention\n' +
        '  precedent diff 2024-01-01 2024-12-31 --valid --ndjson\n',
    )
    .action(async (a: string, b: string | undefined, options: DiffOptions) =>
      (await import('./diff-run.js')).diff(a, b, options),
    );
}
