import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Verified } from '#ledger/index.js';
import { interruption } from './interruption.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { bars } from './steps.js';
import { counted, extentLines, field } from './words.js';

interface Options extends OutputOptions {
  to: string;
}

export function importVerb(program: Command): void {
  program
    .command('import')
    .summary('make a ledger of an export, and prove it')
    .description(
      'Makes the ledger of an empty folder from what "precedent export" wrote, with the same bytes, and proves it as "precedent verify" ' +
        'does. Start a server on the folder afterwards.',
    )
    .argument('<export>', 'folder that "precedent export" wrote', filled)
    .requiredOption('--to <folder>', 'an empty folder, or one to make', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent import /mnt/export --to /var/lib/precedent\n' +
        '\nExit code: 0 proved, 1 the export is damaged (nothing is left; the first bad position is named), 2 the folder is not empty,\n' +
        '3 no export that this program can read, 4 an export that was not finished, or it could not be finished (nothing is left).\n',
    )
    .action(importLedger);
}

async function importLedger(from: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const [dir, to] = [resolve(from), resolve(options.to)];
  const { importBundle, readManifest } = await import('#ledger/index.js');
  const done = await onLedger('bundle', async () => {
    const { events } = readManifest(dir).coverage;
    const { onProgress, stop } = await bars(output.watched, BARS, events);
    try {
      return await importBundle(dir, to, { signal: interruption, onProgress });
    } finally {
      stop();
    }
  });
  const { coverage, logs, texts } = done;
  if (output.readable) output.say(lines(dir, to, done, output.paint));
  else
    output.json('precedent.import/1', {
      export: dir,
      folder: to,
      proved: true,
      ...coverage,
      last_position: String(coverage.last_position),
      texts,
      logs,
    });
  output.note(`\nStart a server on it:  PRECEDENT_DATA=${inline(to)} npm start`);
}

const BARS = { reading: 'Reading the export', checking: 'Checking the ledger' } as const;

function lines(dir: string, to: string, { coverage, logs }: Verified, paint: Paint): string[] {
  return [
    paint.bold(`${inline(dir)} is a ledger in ${inline(to)}, and proved`),
    ...extentLines(coverage, paint),
    field(paint, 'texts', counted(coverage.blobs, 'blob')),
    field(paint, 'logs', counted(logs.length, 'workspace')),
  ];
}
