import type { Command } from 'commander';
import type { Hold, Holds } from '#sources/contract-erasure.js';
import { cell, table } from './administration.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import type { OutputOptions, Paint } from './output.js';
import { allPages } from './pages.js';
import { counted, field, when } from './words.js';

interface Place extends OutputOptions {
  subject?: string;
  source?: string;
  principal?: string;
  matter: string;
}

/** The verbs below `erase` that keep something from it. `whose`: the options that name a subject, a source or a principal. */
export function holdVerbs(erase: Command, whose: (command: Command) => Command): void {
  whose(
    erase
      .command('hold')
      .description('Keeps a subject, a source or a principal: no erasure until its release.'),
  )
    .requiredOption('--matter <number>', 'that needs the texts; recorded for ever', filled)
    .action(({ subject, source, principal, matter, ...options }: Place) =>
      change(options, ['legal-holds'], present({ subject, source_id: source, principal, matter })),
    );
  erase
    .command('release')
    .description('Ends a legal hold.')
    .argument('<hold>', 'as "precedent erase holds" shows it', filled)
    .action((hold: string, options: OutputOptions) =>
      change(options, ['legal-holds', hold, 'release'], {}),
    );
  erase
    .command('holds')
    .description('The legal holds that stand.')
    .option('--subject <id>', 'only those of this subject', filled)
    .option('--principal <id>', 'only those of this principal', filled)
    .option('--released', 'released ones too')
    .action(list);
}

function change(options: OutputOptions, path: readonly string[], body: object): Promise<void> {
  return carryOut(options, 'precedent.hold/1', (api) => api.post<Hold>(path, body), holdLines);
}

function holdLines(hold: Hold, paint: Paint): string[] {
  const { released_at, released_by } = hold;
  return [
    `${paint.bold(cell(hold.matter))} ${released_at === undefined ? 'keeps' : 'no longer keeps'} ${hold.of === undefined ? counted(hold.sources, 'source') : 'a principal'}`,
    field(paint, 'hold', cell(hold.hold_id)),
    field(paint, 'key', cell(hold.key)),
    field(paint, 'placed', `${when(hold.placed_at)} by ${cell(hold.placed_by)}`),
    ...(released_at === undefined
      ? []
      : [field(paint, 'released', `${when(released_at)} by ${cell(released_by)}`)]),
  ];
}

interface Listed extends OutputOptions {
  subject?: string;
  principal?: string;
  released?: boolean;
}

function list(options: Listed): Promise<void> {
  const { subject, principal, released } = options;
  const include_released = released === true ? 'true' : undefined;
  return carryOut(
    options,
    'precedent.holds/1',
    (api) =>
      allPages(
        (cursor) =>
          api.get<Holds>(['legal-holds'], {
            subject,
            principal,
            include_released,
            cursor,
            limit: '200',
          }),
        (all, page) => all.items.push(...page.items),
      ),
    ({ items }, paint) => [
      paint.bold(counted(items.length, 'legal hold')),
      ...table(paint, [
        ['hold', 'matter', 'sources', 'placed', 'by', 'released'],
        ...items.map((hold) => [
          cell(hold.hold_id),
          cell(hold.matter),
          String(hold.sources),
          when(hold.placed_at),
          cell(hold.placed_by),
          hold.released_at === undefined ? '-' : when(hold.released_at),
        ]),
      ]),
    ],
  );
}
