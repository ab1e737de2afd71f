import type { Command } from 'commander';
import type { WorkspaceContext } from '#decisions/contract-workspace.js';
import { restOf } from './api.js';
import { findServer } from './connection.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { counted, field, section } from './words.js';

export function contextVerb(program: Command): void {
  program
    .command('context')
    .summary('where you are, who you are, what is recorded')
    .description('The workspace, what this key may do in it, and how much it holds.')
    .addHelpText('after', '\nExamples:\n  precedent context\n  precedent context --json\n')
    .action(showContext);
}

async function showContext(options: OutputOptions): Promise<void> {
  const output = outputFor(options);
  const connection = await findServer();
  const context = await restOf(connection).get<WorkspaceContext>(['workspace']);
  if (output.readable) output.say(contextLines(context, connection.url, output.paint));
  else output.json('precedent.workspace/1', context);
}

function contextLines(context: WorkspaceContext, url: string, paint: Paint): string[] {
  const { workspace, organisation, caller, counts, ontology } = context;
  const governors =
    organisation.mode === 'peer' ? 'every member governs' : 'admins and owners govern';
  return [
    paint.bold(inline(workspace.name)),
    field(paint, 'server', inline(url)),
    field(paint, 'workspace', inline(workspace.id)),
    field(paint, 'governance', `${inline(organisation.mode)}: ${governors}`),
    field(
      paint,
      'you',
      `${inline(caller.principal)}, ${inline(caller.kind)}, ${inline(caller.role)}; may ${caller.can.map(inline).join(', ')}`,
    ),
    field(paint, 'zone', inline(context.zone)),
    field(
      paint,
      'ontology',
      ontology.status === 'none'
        ? 'none yet'
        : `version ${ontology.version}, ${inline(ontology.status)}`,
    ),
    field(
      paint,
      'holds',
      [
        counted(counts.topics, 'topic'),
        `${counted(counts.decisions, 'decision')} (${counts.heads} in force)`,
        counted(counts.candidates, 'candidate'),
        counted(counts.open_conflicts, 'open conflict'),
        counted(counts.sources, 'source'),
      ].join(', '),
    ),
    field(paint, 'position', inline(context.position)),
    ...section(
      paint,
      'Next',
      context.next_steps.map((step) => [`  ${inline(step)}`]),
    ),
  ];
}
