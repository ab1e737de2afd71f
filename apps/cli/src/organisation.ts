import { Option, type Command } from 'commander';
import type { CreatedOrganisation, Organisation, Organisations } from '#access/contract.js';
import {
  cell,
  identityOf,
  MODES,
  requestId,
  showList,
  switched,
  withIdentity,
  type IdentityOptions,
} from './administration.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import type { OutputOptions, Paint } from './output.js';
import { field, when } from './words.js';
import { createdLines } from './workspace.js';

interface Change extends OutputOptions {
  name?: string;
  mode?: string;
  fourEyes?: boolean;
  approverNames?: boolean;
}

interface Create extends OutputOptions, IdentityOptions {
  owner: string;
  mode?: string;
  workspace?: string;
  zone?: string;
  requestId?: string;
}

const mode = (): Option =>
  new Option('--mode <mode>', 'who governs: admins and owners, or every member').choices(MODES);

export function organisationVerb(program: Command): void {
  const organisation = program
    .command('organisation')
    .helpCommand(false)
    .summary('rules and owners of the organisation; the operator creates organisations')
    .description('The organisation of your key.')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent organisation\n  precedent organisation set --mode peer --four-eyes on\n' +
        '  precedent organisation create "Acme" --owner "Ada Lovelace"\n',
    );
  organisation
    .command('show', { isDefault: true })
    .description('Its rules and owners.')
    .action((options: OutputOptions) =>
      carryOut(
        options,
        'precedent.organisation/1',
        (api) => api.get<Organisation>(['organisation']),
        organisationLines,
      ),
    );
  organisation
    .command('set')
    .description('Changes rules. Needs an owner of the organisation.')
    .option('--name <text>', 'its name', filled)
    .addOption(mode())
    .option('--four-eyes <on|off>', 'nobody approves what he proposed himself', switched)
    .option('--approver-names <on|off>', 'answers show the names of approvers', switched)
    .action((options: Change) =>
      change(
        options,
        ['settings'],
        present({
          name: options.name,
          mode: options.mode,
          four_eyes: options.fourEyes,
          approver_names: options.approverNames,
        }),
      ),
    );
  organisation
    .command('add-owner')
    .description('Makes a person an owner of the organisation.')
    .argument('<principal>', 'as "precedent people" shows it', filled)
    .action((principal: string, options: OutputOptions) =>
      change(options, ['owners'], { principal }),
    );
  organisation
    .command('remove-owner')
    .description('Ends an ownership; the last one stays.')
    .argument('<principal>', 'as "precedent organisation" shows it', filled)
    .action((principal: string, options: OutputOptions) =>
      change(options, ['owners', principal, 'removal'], {}),
    );
  organisation.command('list').description('All of them, for the operator.').action(list);
  withIdentity(
    organisation
      .command('create')
      .description(
        'Creates an organisation with its first owner, and prints his key. For the operator.',
      )
      .argument('<name>', 'its name', filled)
      .requiredOption('--owner <name>', 'name of its first owner', filled),
  )
    .addOption(mode())
    .option(
      '--workspace <name>',
      'name of its first workspace (default: as the organisation)',
      filled,
    )
    .option('--zone <zone>', 'IANA zone of that workspace (default: UTC)', filled)
    .addOption(requestId())
    .action(create);
}

function change(options: OutputOptions, path: readonly string[], body: object): Promise<void> {
  return carryOut(
    options,
    'precedent.organisation/1',
    (api) => api.post<Organisation>(['organisation', ...path], body),
    organisationLines,
  );
}

function create(name: string, options: Create): Promise<void> {
  const body = present({
    name,
    owner_name: options.owner,
    owner_identity: identityOf(options),
    mode: options.mode,
    workspace_name: options.workspace,
    zone: options.zone,
    request_id: options.requestId,
  });
  return carryOut(
    options,
    'precedent.created-organisation/1',
    (api) => api.post<CreatedOrganisation>(['organisations'], body),
    (created, paint) => [
      paint.bold(cell(name)),
      field(paint, 'id', cell(created.organisation)),
      ...createdLines(created, paint),
    ],
  );
}

function list(options: OutputOptions): Promise<void> {
  return showList<Organisations>(options, {
    schema: 'precedent.organisations/1',
    path: ['organisations'],
    what: 'organisation',
    columns: {
      organisation: (o) => cell(o.id),
      since: (o) => when(o.since),
      name: (o) => cell(o.name),
    },
  });
}

function organisationLines(organisation: Organisation, paint: Paint): string[] {
  return [
    paint.bold(cell(organisation.name)),
    field(paint, 'id', cell(organisation.id)),
    field(paint, 'mode', cell(organisation.mode)),
    field(paint, 'four eyes', organisation.four_eyes ? 'on' : 'off'),
    field(paint, 'names', organisation.approver_names ? 'shown' : 'not shown'),
    field(paint, 'owners', organisation.owners.map(cell).join(', ')),
  ];
}
