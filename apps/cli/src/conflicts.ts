import { Argument, Option, type Command } from 'commander';
import type {
  Conflict,
  ConflictClaim,
  Conflicts,
  ResolveConflictInput,
  ResolveConflictReceipt,
} from '#decisions/contract-conflicts.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { counted, field, scopeText, section, valueText, when } from './words.js';

interface FindOptions extends OutputOptions {
  topic?: string;
  status?: string;
  asOf?: string;
  knownAt?: string;
}

export function conflictsVerb(program: Command): void {
  program
    .command('conflicts')
    .summary('decisions that cannot both hold')
    .description('Decisions that cannot both hold, and what would settle each conflict.')
    .option('--topic <name>', 'only of this topic', filled)
    .addOption(
      new Option('--status <status>', 'which ones')
        .choices(['open', 'resolved', 'dismissed', 'all'])
        .default('open'),
    )
    .option('--as-of <date>', 'only between decisions that hold then')
    .option('--known-at <time>', 'what was known then? A date, an instant or a log position')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent conflicts\n  precedent conflicts --topic "Payment terms" --status all\n',
    )
    .action(showConflicts);
}

function showConflicts(options: FindOptions): Promise<void> {
  const { topic, status, asOf: as_of, knownAt: known_at } = options;
  const query = { topic, status, as_of, known_at };
  return carryOut(
    options,
    'precedent.conflicts/1',
    (api) =>
      allPages(
        (cursor, limit) => api.get<Conflicts>(['conflicts'], { ...query, cursor, limit }),
        (all, page) => all.conflicts.push(...page.conflicts),
      ),
    conflictsLines,
    ({ conflicts }) =>
      conflicts.some((c) => c.status === 'open')
        ? 'Settle one: precedent resolve-conflict <id> resolve --winner <id> --reason "…"'
        : undefined,
  );
}

function conflictsLines(
  { conflicts, note }: Omit<Conflicts, 'next_cursor'>,
  paint: Paint,
): string[] {
  if (conflicts.length === 0) return [inline(note ?? 'There is no conflict.')];
  return [
    paint.bold(counted(conflicts.length, 'conflict')),
    ...conflicts.flatMap((conflict) => ['', ...conflictLines(conflict, paint)]),
  ];
}

function conflictLines(conflict: Conflict, paint: Paint): string[] {
  const { status, topic, opened_at, closed_at, closed_by, reason } = conflict;
  const told = (name: string, text: string): string => field(paint, name, text, '    ');
  return [
    `  ${paint.yellow(inline(status))}  ${paint.bold(inline(topic))}  ${inline(conflict.kind.replaceAll('_', ' '))}`,
    ...conflict.claims.flatMap((claim) => claimLines(claim, conflict, paint)),
    ...conflict.would_be_resolved_by.map((what) => told('needed', inline(what))),
    told('opened', when(opened_at)),
    ...(closed_at === undefined
      ? []
      : [
          told(
            'closed',
            `${when(closed_at)}, by ${inline(closed_by ?? '')}: ${inline(reason ?? '')}`,
          ),
        ]),
    told('id', inline(conflict.conflict_id)),
  ];
}

function claimLines(claim: ConflictClaim, { winner }: Conflict, paint: Paint): string[] {
  const { decision_id, statement, value, scope, state, effective_from, sources } = claim;
  const told = (name: string, text: string): string => field(paint, name, text, '      ');
  const verdict = winner === decision_id ? paint.green(' prevails') : '';
  return [
    `    ${inline(statement)}${verdict}`,
    ...(value === undefined ? [] : [told('value', valueText(value))]),
    told('scope', scopeText(scope)),
    told('since', effective_from === undefined ? 'no date is stated' : when(effective_from)),
    told('state', inline(state)),
    ...sources.map((source) => told('from', inline(source.title))),
    told('id', inline(decision_id)),
  ];
}

interface ResolveOptions extends OutputOptions {
  reason: string;
  winner?: string;
}

export function resolveConflictVerb(program: Command): void {
  program
    .command('resolve-conflict')
    .summary('let one claim of a conflict prevail, or dismiss it')
    .description(
      'Settles an open conflict: one approved claim prevails and supersedes the others, or the conflict is dismissed because they are compatible.',
    )
    .argument('<conflict-id>', 'as "precedent conflicts" shows it', filled)
    .addArgument(new Argument('<action>', 'what to do').choices(['resolve', 'dismiss']))
    .option('--winner <decision-id>', 'resolve: the claim that prevails', filled)
    .requiredOption('--reason <text>', 'why', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  precedent resolve-conflict terms.0123456789ab.c1 resolve --winner terms.0123456789ab --reason "agreed on Monday"\n' +
        '  precedent resolve-conflict terms.0123456789ab.c1 dismiss --reason "one is about fees, the other about dates"\n',
    )
    .action(resolveConflict);
}

function resolveConflict(
  id: string,
  action: ResolveConflictInput['action'],
  { reason, winner, ...options }: ResolveOptions,
): Promise<void> {
  const body = { action, reason, ...present({ winner_decision_id: winner }) };
  return carryOut(
    options,
    'precedent.resolve-conflict/1',
    (api) => api.post<ResolveConflictReceipt>(['conflicts', id, 'resolutions'], body),
    receiptLines,
  );
}

function receiptLines(receipt: ResolveConflictReceipt, paint: Paint): string[] {
  const list = (ids: readonly string[]): string[][] => ids.map((id) => [`  ${inline(id)}`]);
  return [
    `${paint.bold(inline(receipt.conflict_id))} is ${paint.green(inline(receipt.status))}`,
    field(paint, 'position', inline(receipt.position)),
    ...section(paint, 'Superseded', list(receipt.superseded)),
    ...section(paint, 'Closed with it', list(receipt.conflicts_closed)),
    ...section(paint, 'Left over, as conflicts of their own', list(receipt.conflicts_opened)),
  ];
}
