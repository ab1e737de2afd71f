import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { KeyReader } from '#event-store/key-vault.js';
import type { BundleManifest } from '#ledger/index.js';
import { VERSION } from '../../server/src/version.js';
import { unusable } from './failure.js';
import { interruption } from './interruption.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { openSource, withSource, type AuditSource, type SourceOptions } from './source.js';
import { bars } from './steps.js';
import { counted, extentLines, field } from './words.js';

interface Options extends SourceOptions, OutputOptions {
  workspace?: string;
  to?: number;
  withKeys?: boolean;
}

export function exportVerb(program: Command): void {
  withSource(
    program
      .command('export')
      .summary('leave with everything: a folder of text files that proves itself')
      .description(
        'Writes every event, text, checkpoint and public key into a folder that "precedent verify --bundle" proves and ' +
          '"precedent import" makes a ledger of. Cut short, the same command goes on where it was. Holds no secrets.',
      )
      .argument('<folder>', 'an empty folder, or one to make', filled),
  )
    .option('--workspace <id>', 'only the events of one workspace', filled)
    .option('--to <position>', 'only the events up to a log position', position)
    .option(
      '--with-keys',
      'also the keys that open sealed texts: whoever has the folder reads them',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent export /mnt/export\n  precedent export /mnt/main --workspace main --to 1200\n' +
        '  precedent verify --bundle /mnt/export\n' +
        '\nExit code: 0 the folder is whole, 1 the ledger is damaged, 2 the folder is not empty, 3 there is nothing that can be read,\n' +
        '4 it could not be finished, 130 interrupted (run it again to go on).\n',
    )
    .action(exportLedger);
}

function position(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('Give a log position like 1200.');
}

async function exportLedger(folder: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const dir = resolve(folder);
  const manifest = await onLedger('export', async () => {
    const source = await openSource(options);
    try {
      return await write(source, dir, options);
    } finally {
      await source.close();
    }
  });
  if (output.readable) output.say(lines(dir, manifest, output.paint));
  else {
    const { schema: bundle, ...said } = manifest;
    output.json('precedent.export/1', { folder: dir, bundle, ...said });
  }
  output.note(`\nProve it:  precedent verify --bundle ${inline(dir)}`);
}

async function write(source: AuditSource, dir: string, options: Options): Promise<BundleManifest> {
  const { writeBundle } = await import('#ledger/index.js');
  const keys = options.withKeys ? await keysOf(source) : undefined;
  const end = await source.store.end();
  const snapshot = await source.snapshot();
  const shown = await bars(source.watched, BARS, end);
  try {
    return await writeBundle(snapshot, dir, {
      tool: `precedent ${VERSION}`,
      workspace: options.workspace,
      to: Math.min(options.to ?? end, end),
      ...(keys ? { keyOf: (id: string) => keys.key(id) } : {}),
      signal: interruption,
      onProgress: (step, done) => shown.onProgress(step, done),
    });
  } finally {
    shown.stop();
    snapshot.close();
    await keys?.close();
  }
}

async function keysOf(source: AuditSource): Promise<KeyReader> {
  const keys = await source.textKeys();
  if (keys) return keys;
  throw unusable('no_text_keys', 'this ledger has no keys of sealed texts here', {
    path: '--with-keys',
    fix: 'leave --with-keys out, or give the data folder that holds keys.sqlite',
  });
}

const BARS = {
  events: 'Writing events',
  texts: 'Writing texts',
  proof: 'Reading it back',
} as const;

function lines(dir: string, { coverage, logs }: BundleManifest, paint: Paint): string[] {
  return [
    paint.bold(`Exported to ${inline(dir)}`),
    ...extentLines(coverage, paint),
    field(paint, 'texts', counted(coverage.blobs, 'blob')),
    field(
      paint,
      'logs',
      `${counted(logs.length, 'workspace')}, ${logs.filter((l) => l.origin !== null).length} signed`,
    ),
  ];
}
