import type { Command } from 'commander';
import type { Decisions } from '#decisions/contract-decisions.js';
import { decisionFields } from './answer-text.js';
import { carryOut } from './carry-out.js';
import { filled, madeQuery, withMade, type MadeOptions } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { allPages } from './pages.js';
import { counted, when } from './words.js';

interface Options extends OutputOptions, MadeOptions {
  topic?: string;
  ended?: true;
}

export function decisionsVerb(program: Command): void {
  withMade(
    program
      .command('decisions')
      .summary('decisions made in a time, of every topic')
      .description(
        'Decisions that are approved, the last one first, each with when it was decided.',
      ),
  )
    .option('--topic <name>', 'only of this topic', filled)
    .option('--ended', 'also those that no longer hold')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent decisions --since yesterday\n  precedent decisions --since 2026-01-01 --until 2026-04-01 --ended\n',
    )
    .action(showDecisions);
}

function showDecisions(options: Options): Promise<void> {
  const query = {
    ...madeQuery(options),
    topic: options.topic,
    include_ended: options.ended ? 'true' : undefined,
  };
  return carryOut(
    options,
    'precedent.decisions/1',
    (api) =>
      allPages(
        (cursor, limit) => api.get<Decisions>(['decisions'], { ...query, cursor, limit }),
        (all, page) => all.decisions.push(...page.decisions),
      ),
    decisionLines,
  );
}

function decisionLines(
  { decisions, decided, zone }: Omit<Decisions, 'next_cursor'>,
  paint: Paint,
): string[] {
  const { since, until } = decided;
  const parts = [
    ...(since === undefined ? [] : [`since ${when(since)}`]),
    ...(until === undefined ? [] : [`before ${when(until)}`]),
  ];
  const time = parts.length === 0 ? '' : ` made ${parts.join(' and ')}`;
  return [
    paint.bold(`${counted(decisions.length, 'decision')}${time}`),
    paint.dim(`days are those of ${zone}`),
    ...decisions.flatMap((decision) => [
      '',
      `  ${paint.bold(inline(decision.statement))}`,
      ...decisionFields(decision, paint, '    '),
    ]),
  ];
}
