import { resolve } from 'node:path';
import type { Command } from 'commander';
import { coverageLines, covered, withProgress } from './backup.js';
import { unusable } from './failure.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions } from './output.js';

interface Options extends OutputOptions {
  to?: string;
  keys?: string;
  verify?: boolean;
}

export function restoreVerb(program: Command): void {
  program
    .command('restore')
    .summary('make a ledger from a backup, and prove it')
    .description(
      'Makes the ledger of an empty folder from a backup and proves that it is what was backed up: every event, every text, ' +
        'their order, and the digest that "precedent backup" printed. Start a server on the folder afterwards.',
    )
    .argument('<backup>', 'a file that "precedent backup" wrote', filled)
    .option('--to <folder>', 'an empty folder, or one to make', filled)
    .option(
      '--keys <file>',
      'keys of sealed texts (default: <backup>.keys, if it is there)',
      filled,
    )
    .option('--verify', 'without --to: only prove the backup, and write nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent restore /backups/monday.precedent --verify\n' +
        '  precedent restore /backups/monday.precedent --to /var/lib/precedent\n' +
        '\nExit code: 0 proved, 1 damaged (nothing is restored; the first bad position is named), 2 the folder is not empty,\n' +
        '3 no backup that this program can read, 4 it could not be finished (nothing is left).\n',
    )
    .action(restoreBackup);
}

async function restoreBackup(backup: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const file = resolve(backup);
  const folder = options.to === undefined ? undefined : resolve(options.to);
  if (folder === undefined && !options.verify)
    throw unusable('no_folder', 'it is not said where to restore to', {
      path: '--to',
      fix: 'give --to and an empty folder, or --verify to only prove the backup',
    });
  const { restore, verifyBackup } = await import('#event-store/backup.js');
  const done = await onLedger('backup', () =>
    withProgress(output, (onProgress, signal) =>
      folder === undefined
        ? verifyBackup(file, { onProgress, signal })
        : restore(file, folder, {
            onProgress,
            signal,
            ...(options.keys === undefined ? {} : { keysFrom: resolve(options.keys) }),
          }),
    ),
  );
  if (!output.readable) {
    output.json('precedent.restore/1', {
      backup: file,
      ...(folder === undefined ? {} : { folder }),
      proved: true,
      ...covered(done),
    });
    return;
  }
  const into = folder === undefined ? 'is whole' : `is restored to ${inline(folder)} and proved`;
  output.say([output.paint.bold(`${inline(file)} ${into}`), ...coverageLines(done, output.paint)]);
  if (folder !== undefined && !done.keys)
    output.note('\nNo keys of sealed texts came along: such texts read [sealed].');
  if (folder !== undefined)
    output.note(`\nStart a server on it:  PRECEDENT_DATA=${inline(folder)} npm start`);
}
