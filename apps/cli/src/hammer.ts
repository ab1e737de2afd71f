import { InvalidArgumentError, type Command } from 'commander';
import { findServer } from './connection.js';
import type { Hammered, Load } from './hammer-run.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { counted, field } from './words.js';

interface Options extends OutputOptions, Load {
  url?: string;
  data?: string;
}

export function hammerVerb(program: Command): void {
  program
    .command('hammer')
    .summary('writers and readers that look for a lie of a server')
    .description(
      'Writes decisions into topics of its own and reads them back while it writes: what is acknowledged must be read at once and never be ' +
        'lost, positions only rise, the past never changes, and each signed checkpoint continues the one before. It stops at the first lie ' +
        'and shows it. The topics stay: use a server for tests, with the key of somebody who governs.',
    )
    .option('--seconds <n>', 'how long', countUpTo(86_400), 10)
    .option('--writers <n>', 'that write at once', countUpTo(256), 4)
    .option('--readers <n>', 'that read at once', countUpTo(256), 4)
    .option('--url <address>', 'address of the server (default: PRECEDENT_URL)', filled)
    .option('--data <folder>', 'data folder of a server on this machine', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent hammer --seconds 60 --writers 8 --readers 8\n' +
        '\nExit code: 0 no lie was found, 1 the first lie, with what was asked, expected and found.\n',
    )
    .action(run);
}

function countUpTo(most: number): (text: string) => number {
  return (text) => {
    const n = Number(text);
    if (/^\d+$/.test(text) && n >= 1 && n <= most) return n;
    throw new InvalidArgumentError(`Give a whole number from 1 to ${most}.`);
  };
}

async function run(options: Options): Promise<void> {
  const output = outputFor(options);
  const { seconds, writers, readers } = options;
  const connection = await findServer(options);
  const { hammer } = await import('./hammer-run.js');
  const hammered = await hammer(connection, { seconds, writers, readers });
  const result = { url: connection.url, writers, readers, ...hammered };
  if (output.readable) output.say(lines(result, output.paint));
  else output.json('precedent.hammer/1', result);
}

function lines(
  { url, writers, readers, run, ...done }: Hammered & { url: string } & Omit<Load, 'seconds'>,
  paint: Paint,
): string[] {
  const { checked, seconds } = done;
  const rate = (n: number): string => `${(n / seconds).toFixed(1)} a second`;
  return [
    `${paint.green('No lie')} of ${inline(url)} in ${counted(seconds, 'second')}`,
    '',
    field(
      paint,
      'written',
      `${done.acknowledged} by ${counted(writers, 'writer')}, ${rate(done.acknowledged)}`,
    ),
    field(
      paint,
      'read',
      `${done.answers} by writers and ${counted(readers, 'reader')}, ${rate(done.answers)}`,
    ),
    field(
      paint,
      'checked',
      `${checked.read_your_writes} own writes, ${checked.present} present answers, ${checked.past} past ones, ${checked.acknowledged_found} found in histories`,
    ),
    field(
      paint,
      'log',
      checked.checkpoints === 0
        ? 'the server signs none'
        : counted(checked.checkpoints, 'checkpoint'),
    ),
    field(paint, 'retried', String(done.retries)),
    field(paint, 'topics', `${inline(run)} 1 to ${writers}`),
  ];
}
