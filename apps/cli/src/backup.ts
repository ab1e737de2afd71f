import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { BackedUp, BackupOptions } from '#event-store/backup.js';
import { dataFolder, onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type Output, type OutputOptions, type Paint } from './output.js';
import { bars } from './steps.js';
import { counted, extentLines, field } from './words.js';

interface Options extends OutputOptions {
  data?: string;
  keys: boolean;
}

export function backupVerb(program: Command): void {
  program
    .command('backup')
    .summary('copy the ledger into one file, also while a server runs')
    .description(
      'Copies the whole ledger into one new file, checks the copy and prints what it covers. ' +
        'It holds everything that was acknowledged before it began. Nothing is ever overwritten. ' +
        'The keys of sealed texts go into a second file, <file>.keys: delete it after the time within which an erasure must reach every copy.',
    )
    .argument('<file-or-folder>', 'the new file, or a folder in which it gets a name', filled)
    .option('--data <folder>', 'data folder of the ledger (default: PRECEDENT_DATA)', filled)
    .option('--no-keys', 'leave the keys of sealed texts out: what is restored reads [sealed]')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent backup /backups\n  precedent backup /backups/monday.precedent --data /var/lib/precedent --json\n' +
        '\nExit code: 0 the copy is whole, 1 the ledger is damaged (no file is left), 2 the file is there already,\n' +
        '3 there is no ledger that this program can read, 4 it could not be finished (no file is left).\n',
    )
    .action(makeBackup);
}

async function makeBackup(where: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const data = await dataFolder(options.data);
  const file = fileOf(where);
  const { backUp } = await import('#event-store/backup.js');
  const done = await onLedger('ledger', () =>
    withProgress(output, (onProgress, signal) =>
      backUp(data, file, { onProgress, signal, keys: options.keys }),
    ),
  );
  if (!output.readable) {
    output.json('precedent.backup/1', { file, ...covered(done) });
    return;
  }
  output.say([
    output.paint.bold(`Backed up ${inline(data)} to ${inline(file)}`),
    ...coverageLines(done, output.paint),
  ]);
  output.note(`\nProve it again:  precedent restore ${inline(file)} --verify`);
}

/** In a folder, the time names it. */
function fileOf(where: string): string {
  if (!statSync(where, { throwIfNoEntry: false })?.isDirectory()) return resolve(where);
  const stamp = new Date().toISOString().replace(/[-:]/g, '').replace('.', '-');
  return resolve(join(where, `precedent-${stamp}.precedent`));
}

const BARS = {
  reading: ['Reading the ledger', 'events and texts'],
  copying: ['Copying', 'pages'],
  checking: ['Checking the copy', 'events and texts'],
} as const;

/** Bars on a terminal; Ctrl-C ends the work, which cleans up after itself. */
export async function withProgress<T>(
  output: Output,
  work: (onProgress: BackupOptions['onProgress'], signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { interruption } = await import('./interruption.js');
  const { onProgress, stop } = await bars(output.watched, BARS);
  try {
    return await work(onProgress, interruption);
  } finally {
    stop();
  }
}

/** Positions are text outside: other engines have some that no double holds. */
export function covered({ coverage, layout, bytes, keys }: BackedUp): object {
  const { last_position } = coverage;
  const found = { ...coverage, last_position: String(last_position), layout, bytes };
  return keys ? { ...found, keys } : found;
}

export function coverageLines({ coverage, bytes, keys }: BackedUp, paint: Paint): string[] {
  return [
    ...extentLines(coverage, paint),
    field(paint, 'texts', counted(coverage.blobs, 'blob')),
    field(paint, 'backup', counted(bytes, 'byte')),
    ...(keys ? [field(paint, 'keys', `${keys.keys}, and ${keys.erased} destroyed`)] : []),
  ];
}
