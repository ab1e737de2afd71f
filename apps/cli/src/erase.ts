import { writeFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import type { Erasure, Erasures } from '#sources/contract-erasure.js';
import { REASONS } from '#sources/contract-erasure-reasons.js';
import { cell, table } from './administration.js';
import { carryOut, present } from './carry-out.js';
import { restOf } from './api.js';
import { findServer } from './connection.js';
import { holdVerbs } from './erase-holds.js';
import { unusable } from './failure.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { counted, field, section, when } from './words.js';

interface Whose extends OutputOptions {
  subject?: string;
  source?: string;
  principal?: string;
}

interface Erase extends Whose {
  reason: string;
  reference?: string;
  yes?: boolean;
  /** commander sets it to false where `--no-input` is given. */
  input: boolean;
  certificate?: string;
}

export function eraseVerb(program: Command): void {
  const erase = program
    .command('erase')
    .helpCommand(false)
    .summary('erase a person’s or a source’s texts, or who acted, for good; legal holds')
    .description(
      'Destroys the key that seals the texts of a subject or a source, or the name and words of who acted. The log stays whole and verifies; these read [erased].',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent erase --subject emp-4711 --reason requested --reference DSAR-2026-7\n' +
        '  precedent erase --subject emp-4711 --reason requested --reference DSAR-2026-7 --yes --certificate erased.json\n' +
        '  precedent erase --principal p0123456789abcdef --reason requested --yes\n' +
        '  precedent erase list\n  precedent erase hold --subject emp-4711 --matter 2026-LIT-4\n' +
        '\nWithout --yes it only shows what would be hit. Backups made before are yours to let expire: docs/guide/erasure.md.\n',
    );
  whose(
    erase
      .command('subject', { isDefault: true })
      .description('Shows what an erasure hits and, with --yes, does it.'),
  )
    .addOption(
      new Option('--reason <word>', 'why; recorded for ever')
        .choices(REASONS)
        .makeOptionMandatory(),
    )
    .option('--reference <number>', 'of the request or case file; recorded for ever', filled)
    .option('--yes', 'erase; this cannot be undone')
    .option('--no-input', 'for scripts: refuse where --yes is missing')
    .option('--certificate <file>', 'write the signed certificate to this file', filled)
    .action(eraseSubject);
  erase
    .command('list')
    .description('What was erased, when and why.')
    .option('--subject <id>', 'only that of this subject', filled)
    .option('--principal <id>', 'only that of this principal', filled)
    .action(list);
  erase
    .command('show')
    .description('One erasure, with its signed certificate.')
    .argument('<erasure>', 'as "precedent erase list" shows it', filled)
    .option('--certificate <file>', 'write the signed certificate to this file', filled)
    .action(show);
  holdVerbs(erase, whose);
}

function whose(command: Command): Command {
  return command
    .option('--subject <id>', 'everything that was ingested under this id', filled)
    .option('--source <id>', 'one source that was ingested without a subject', filled)
    .option('--principal <id>', 'who acted, once deactivated: name and own words', filled);
}

/** As the fields of a request. */
const named = ({ subject, source, principal }: Whose): Record<string, unknown> =>
  present({ subject, source_id: source, principal });

async function eraseSubject(options: Erase): Promise<void> {
  const { reason, reference, yes = false, input, certificate } = options;
  if (!input && !yes)
    throw unusable('confirmation_needed', 'an erasure cannot be undone and was not confirmed', {
      path: '--yes',
      fix: 'look at what it hits without --no-input, then add --yes',
    });
  const output = outputFor(options);
  const api = restOf(await findServer());
  const body = { ...named(options), ...present({ reason, reference }), dry_run: !yes };
  const erasure = await api.post<Erasure>(['erasures'], body);
  await shown(erasure, options, certificate);
  if (erasure.status === 'dry_run') output.note('Nothing was erased. Add --yes to do it.');
}

async function show(id: string, options: OutputOptions & { certificate?: string }): Promise<void> {
  const api = restOf(await findServer());
  const erasure = await api.get<Erasure>(['erasures', id]);
  await shown(erasure, options, options.certificate);
}

async function shown(
  erasure: Erasure,
  options: OutputOptions,
  file: string | undefined,
): Promise<void> {
  const output = outputFor(options);
  if (output.readable) output.say(erasureLines(erasure, output.paint));
  else output.json('precedent.erasure/1', erasure);
  if (file !== undefined && erasure.status === 'erased') {
    await save(file, erasure);
    output.note(`The certificate is in ${inline(file)}; "precedent receipt verify" proves it.`);
  }
}

async function save(file: string, { certificate }: Erasure): Promise<void> {
  if (!certificate)
    throw unusable('no_certificate', 'the erasure is recorded, but this server signs no log', {
      fix: 'set PRECEDENT_LOG_KEY on the server, then take it with "precedent erase show"',
    });
  try {
    await writeFile(file, `${JSON.stringify(certificate, null, 2)}\n`);
  } catch (error) {
    throw unusable('unwritable', `${file} cannot be written: ${(error as Error).message}`, {
      fix: 'take the certificate with "precedent erase show" into a folder that you may write to',
    });
  }
}

const TITLES: Readonly<Record<Erasure['status'], string>> = {
  dry_run: 'would be erased; nothing was done',
  awaiting_second: 'awaits a second person',
  erased: 'erased',
};

function erasureLines(erasure: Erasure, paint: Paint): string[] {
  const { touched, status } = erasure;
  const fields: [string, string | undefined][] = [
    ['name', erasure.name],
    ['erasure', erasure.erasure_id],
    ['reason', erasure.reason],
    ['reference', erasure.reference],
    ['key', erasure.key],
    ['asked by', erasure.requested_by],
    ['erased by', erasure.erased_by],
    ['erased at', erasure.erased_at && when(erasure.erased_at)],
    ['position', erasure.event_position],
  ];
  return [
    `${paint.bold(touchedText(touched))}: ${TITLES[status]}`,
    ...fields.flatMap(([name, text]) =>
      text === undefined ? [] : [field(paint, name, cell(text))],
    ),
    ...(erasure.name_remains === true
      ? ['The name was recorded before names were sealed: it stays in the log.']
      : []),
    ...section(
      paint,
      'Sources',
      (erasure.sources ?? []).map(({ source_id, title }) => [
        `  ${inline(source_id)}  ${inline(title)}`,
      ]),
    ),
    ...section(
      paint,
      'Decisions whose words go; what they decide stays',
      (erasure.decision_ids ?? []).map((id) => [`  ${inline(id)}`]),
    ),
    ...section(
      paint,
      'A legal hold is in the way',
      (erasure.held_by ?? []).map((matter) => [`  ${inline(matter)}`]),
    ),
  ];
}

function touchedText(touched: Erasure['touched']): string {
  const { sources, decisions, answers, jobs, others } = touched;
  return [
    counted(sources, 'source'),
    counted(decisions, 'decision'),
    counted(answers, 'kept answer'),
    counted(jobs, 'ingestion'),
    ...(others > 0 ? [counted(others, 'other text')] : []),
  ].join(', ');
}

function list(options: Whose): Promise<void> {
  const { subject, principal } = options;
  return carryOut(
    options,
    'precedent.erasures/1',
    (api) =>
      allPages(
        (cursor) => api.get<Erasures>(['erasures'], { subject, principal, cursor, limit: '200' }),
        (all, page) => all.items.push(...page.items),
      ),
    ({ items }, paint) => [
      paint.bold(counted(items.length, 'erasure')),
      ...table(paint, [
        ['erasure', 'at', 'by', 'reason', 'reference', 'hit'],
        ...items.map((one) => [
          cell(one.erasure_id),
          one.erased_at === undefined ? '-' : when(one.erased_at),
          cell(one.erased_by),
          cell(one.reason),
          cell(one.reference),
          touchedText(one.touched),
        ]),
      ]),
    ],
  );
}
