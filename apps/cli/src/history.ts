import type { Command } from 'commander';
import type { History, TimelineEntry } from '#decisions/contract.js';
import { decisionFields, named } from './answer-text.js';
import { restOf } from './api.js';
import { findServer } from './connection.js';
import { isOffline, withRecord, type RecordOptions } from './record-options.js';
import { axesOf, axesQuery, filled, madeQuery, withAxes, withMade } from './options.js';
import type { AxesOptions, MadeOptions } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { field, section, when } from './words.js';

export function historyVerb(program: Command): void {
  withRecord(
    withMade(
      withAxes(
        program
          .command('history')
          .summary('everything that happened in a topic')
          .description(
            'The timeline of a topic, oldest first, and the decisions in force: from the server, or from the files of a ledger where ' +
              'they are named.',
          )
          .argument('<topic>', 'id, name or alias of a topic', filled),
      ),
    ),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent history "Use PostgreSQL"\n  precedent history adr-0001-use-sqlite --known-at 2025-01-01\n' +
        '  precedent history "Use PostgreSQL" --data /mnt/copy\n',
    )
    .action(showHistory);
}

type Options = OutputOptions & AxesOptions & MadeOptions & RecordOptions;

async function showHistory(topic: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const history = await (isOffline(options)
    ? fromRecord(topic, options)
    : fromServer(topic, options));
  if (output.readable) output.say(historyLines(history, output.paint));
  else output.json('precedent.history/1', history);
}

async function fromServer(topic: string, options: Options): Promise<History> {
  const api = restOf(await findServer());
  const query = { ...axesQuery(options), ...madeQuery(options) };
  return allPages(
    (cursor, limit) => api.get<History>(['topics', topic, 'history'], { ...query, cursor, limit }),
    addPage,
  );
}

async function fromRecord(topic: string, options: Options): Promise<History> {
  // Loaded where they are needed: they are half of this program.
  const { onRecord, times } = await import('./on-record.js');
  const { history: historyFrom } = await import('#decisions/index.js');
  times({ '--as-of': options.asOf }, { '--known-at': options.knownAt });
  const now = Date.now();
  return onRecord(options, ({ reads, workspace, position }) =>
    allPages((cursor) => {
      const input = {
        topic,
        ...axesOf(options),
        ...madeQuery(options),
        limit: 200,
        ...(cursor === undefined ? {} : { cursor }),
      };
      return Promise.resolve(historyFrom(reads, workspace, input, now, position));
    }, addPage),
  );
}

function addPage(all: History, page: History): void {
  all.timeline.push(...page.timeline);
}

function historyLines(history: History, paint: Paint): string[] {
  const { empty_reason, aliases, heads, timeline, candidate_topics } = history;
  const statementOf = new Map(timeline.map((entry) => [entry.decision_id, entry.statement]));
  const names = aliases.filter((alias) => alias !== history.name);
  return [
    paint.bold(named(history, paint)),
    ...(names.length === 0 ? [] : [field(paint, 'also', names.map(inline).join(', '))]),
    ...(empty_reason === undefined ? [] : ['', `  ${inline(empty_reason)}`]),
    ...section(
      paint,
      'In force',
      heads.map((head) => [`  ${inline(head.statement)}`, ...decisionFields(head, paint, '    ')]),
    ),
    ...section(
      paint,
      'Timeline',
      timeline.map((entry) => entryLines(entry, statementOf, paint)),
    ),
    ...section(
      paint,
      'Did you mean',
      candidate_topics.map((t) => [`  ${named(t, paint)}`]),
    ),
  ];
}

type Statements = ReadonlyMap<string, string>;

function entryLines(entry: TimelineEntry, statementOf: Statements, paint: Paint): string[] {
  const { kind, superseded_by, supersedes, reason } = entry;
  const name = (id: string): string => statementOf.get(id) ?? id;
  const told = (name: string, text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : [`    ${paint.dim(`${name}${inline(text)}`)}`];
  return [
    `  ${paint.dim(when(entry.recorded_at))}  ${inline(kind.replaceAll('_', ' ')).padEnd(17)}  ${inline(entry.statement)}`,
    ...told('', `${entry.decision_id} by ${entry.actor}, position ${entry.position}`),
    ...told('because ', reason),
    ...supersedes.flatMap((id) => told('supersedes ', name(id))),
    ...told('superseded by ', superseded_by && name(superseded_by)),
  ];
}
