import type { Command } from 'commander';
import type { CreatedWorkspace, WorkspaceSettings, Workspaces } from '#access/contract.js';
import { cell, requestId, showList, switched } from './administration.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import type { OutputOptions, Paint } from './output.js';
import { field, when } from './words.js';

interface Change extends OutputOptions {
  name?: string;
  capture?: boolean;
}

export function workspaceVerb(program: Command): void {
  const workspace = program
    .command('workspace')
    .helpCommand(false)
    .summary('settings of the workspace; list and create workspaces')
    .description('The workspace of your key, and the others of its organisation.')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent workspace\n  precedent workspace set --capture on\n' +
        '  precedent workspace create "Payments" --zone Europe/Paris\n',
    );
  workspace
    .command('show', { isDefault: true })
    .description('Its settings.')
    .action((options: OutputOptions) =>
      carryOut(
        options,
        'precedent.workspace-settings/1',
        (api) => api.get<WorkspaceSettings>(['workspace', 'settings']),
        settingsLines,
      ),
    );
  workspace
    .command('set')
    .description('Changes settings. Needs an admin or owner.')
    .option('--name <text>', 'its name', filled)
    .option('--capture <on|off>', 'keep answers for rating', switched)
    .action(({ name, capture, ...options }: Change) =>
      carryOut(
        options,
        'precedent.workspace-settings/1',
        (api) =>
          api.post<WorkspaceSettings>(
            ['workspace', 'settings'],
            present({ name, answer_capture: capture }),
          ),
        settingsLines,
      ),
    );
  workspace.command('list').description('Those that you may see.').action(list);
  workspace
    .command('create')
    .description(
      'Opens a workspace of which you are the owner, and prints your key for it. Needs an owner of the organisation.',
    )
    .argument('<name>', 'its name', filled)
    .option('--zone <zone>', 'IANA zone in which a date is read (default: UTC)', filled)
    .addOption(requestId())
    .action((name: string, options: OutputOptions & { zone?: string; requestId?: string }) =>
      carryOut(
        options,
        'precedent.created-workspace/1',
        (api) =>
          api.post<CreatedWorkspace>(
            ['workspaces'],
            present({ name, zone: options.zone, request_id: options.requestId }),
          ),
        createdLines,
      ),
    );
}

function list(options: OutputOptions): Promise<void> {
  return showList<Workspaces>(options, {
    schema: 'precedent.workspaces/1',
    path: ['workspaces'],
    what: 'workspace',
    columns: {
      workspace: (w) => cell(w.id),
      members: (w) => String(w.members),
      zone: (w) => cell(w.zone),
      since: (w) => when(w.since),
      name: (w) => cell(w.name),
    },
  });
}

function settingsLines(settings: WorkspaceSettings, paint: Paint): string[] {
  return [
    paint.bold(cell(settings.name)),
    field(paint, 'workspace', cell(settings.id)),
    field(paint, 'zone', cell(settings.zone)),
    field(paint, 'capture', settings.answer_capture ? 'on' : 'off'),
  ];
}

export function createdLines(created: CreatedWorkspace, paint: Paint): string[] {
  const { key } = created;
  return [
    field(paint, 'workspace', cell(created.workspace)),
    field(paint, 'owner', cell(created.principal)),
    field(
      paint,
      'key',
      key === undefined ? `${cell(created.credential)}, shown when it was made` : cell(key),
    ),
  ];
}
