import type { Command } from 'commander';
import { dataFolder, onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { counted } from './words.js';

interface Options extends OutputOptions {
  data?: string;
  dryRun?: boolean;
}

export function migrateVerb(program: Command): void {
  program
    .command('migrate')
    .summary('bring a ledger of an earlier version to the present layout')
    .description(
      'Brings the ledger file to the layout that this version works with. Only forward, whole or not at all, with the same history ' +
        'before and after. No server may run on the folder. Make a backup first: earlier versions cannot read the result.',
    )
    .option('--dry-run', 'only say what would be done; also while a server runs')
    .option('--data <folder>', 'data folder of the ledger (default: PRECEDENT_DATA)', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent migrate --dry-run\n  precedent backup /backups && precedent migrate\n' +
        '\nExit code: 0 done or nothing to do, 1 the ledger is damaged (nothing is changed), 3 it is in use, of a newer version,\n' +
        'or none, 4 it could not be finished (nothing is changed).\n',
    )
    .action(migrateLedger);
}

async function migrateLedger(options: Options): Promise<void> {
  const output = outputFor(options);
  const data = await dataFolder(options.data);
  const { interruption } = await import('./interruption.js');
  const { migrate, planMigration } = await import('#event-store/sqlite-migration.js');
  const dryRun = options.dryRun ?? false;
  const plan = await onLedger('ledger', async () =>
    dryRun
      ? planMigration(data)
      : migrate(data, { signal: interruption, onStep: (what) => output.note(inline(what)) }),
  );
  const { from, to } = plan;
  const steps = plan.steps.map(({ from, what }) => ({ from, to: from + 1, what }));
  if (output.readable) output.say(planLines({ data, from, to, steps, dryRun }, output.paint));
  else output.json('precedent.migration/1', { folder: data, from, to, steps, dry_run: dryRun });
}

interface Told {
  data: string;
  from: number;
  to: number;
  steps: readonly { from: number; to: number; what: string }[];
  dryRun: boolean;
}

function planLines({ data, from, to, steps, dryRun }: Told, paint: Paint): string[] {
  if (steps.length === 0) return [`Nothing to do: ${inline(data)} has layout ${to}.`];
  const done = dryRun ? 'would be taken' : 'taken';
  return [
    paint.bold(
      `${inline(data)} from layout ${from} to ${to}: ${counted(steps.length, 'step')} ${done}`,
    ),
    ...steps.map((step) => `  ${step.from} → ${step.to}  ${inline(step.what)}`),
  ];
}
