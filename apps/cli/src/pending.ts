import { Option, type Command } from 'commander';
import type { Pending, PendingItem } from '#decisions/contract-review.js';
import { carryOut } from './carry-out.js';
import { filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { counted, field, reasonText, scopeText, valueText, when } from './words.js';

interface Options extends OutputOptions {
  topic?: string;
  kind?: string;
}

const KINDS = ['candidate', 'conflict', 'ontology', 'dataset'];

export function pendingVerb(program: Command): void {
  program
    .command('pending')
    .summary('what awaits a review')
    .description(
      'Candidates, open conflicts, ontology proposals and draft datasets, longest waiting first, each with the reasons.',
    )
    .option('--topic <name>', 'only of this topic', filled)
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(KINDS))
    .addHelpText('after', '\nExamples:\n  precedent pending\n  precedent pending --kind conflict\n')
    .action(showPending);
}

function showPending({ topic, kind, ...options }: Options): Promise<void> {
  return carryOut(
    options,
    'precedent.pending/1',
    (api) =>
      allPages(
        (cursor, limit) => api.get<Pending>(['pending'], { topic, kind, cursor, limit }),
        (all, page) => all.items.push(...page.items),
      ),
    ({ items }, paint) => pendingLines(items, paint),
    ({ items }) =>
      items.some((item) => item.kind === 'candidate')
        ? 'Review one: precedent review <id> approve --reason "…"'
        : undefined,
  );
}

function pendingLines(items: readonly PendingItem[], paint: Paint): string[] {
  if (items.length === 0) return ['Nothing awaits a review.'];
  return [
    paint.bold(`${counted(items.length, 'item awaits', 'items await')} a review`),
    ...items.flatMap((item) => ['', ...itemLines(item, paint)]),
  ];
}

function itemLines(item: PendingItem, paint: Paint): string[] {
  const { kind, id, topic, statement, value, scope, reasons, content_hash } = item;
  return [
    `  ${paint.yellow(inline(kind))}  ${paint.bold(inline(statement ?? reasons[0] ?? ''))}`,
    ...(statement === undefined ? reasons.slice(1) : reasons).map((reason) =>
      field(paint, 'reason', reasonText(reason), '    '),
    ),
    ...(topic === undefined ? [] : [field(paint, 'topic', inline(topic), '    ')]),
    ...(value === undefined ? [] : [field(paint, 'value', valueText(value), '    ')]),
    ...(scope === undefined ? [] : [field(paint, 'scope', scopeText(scope), '    ')]),
    field(paint, 'since', `${when(item.since)}, by ${inline(item.proposed_by)}`, '    '),
    field(paint, 'id', inline(id), '    '),
    ...(content_hash === '' ? [] : [field(paint, 'hash', inline(content_hash), '    ')]),
  ];
}
