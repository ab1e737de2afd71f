import { Option, type Command } from 'commander';
import type { ChangedMember, Members } from '#access/contract.js';
import {
  cell,
  identityOf,
  KINDS,
  requestId,
  ROLES,
  showList,
  withIdentity,
  type IdentityOptions,
} from './administration.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import type { OutputOptions, Paint } from './output.js';
import { field, when } from './words.js';

interface AddOptions extends OutputOptions, IdentityOptions {
  role: string;
  kind?: string;
  principal?: string;
  requestId?: string;
}

export function membersVerb(program: Command): void {
  const members = program
    .command('members')
    .helpCommand(false)
    .summary('who belongs to the workspace, with which role')
    .description(
      'Lists, adds and removes members of the workspace of your key. Needs an admin or owner.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent members\n  precedent members add "Ada Lovelace" --role admin\n' +
        '  precedent members add "CI bot" --kind agent --role member\n' +
        '  precedent members role p0123456789abcdef owner\n',
    );
  members
    .command('list', { isDefault: true })
    .description('The members of now.')
    .option('--former', 'former members too')
    .action(list);
  withIdentity(
    members
      .command('add')
      .description('Adds somebody new by name, or somebody of the organisation by --principal.')
      .argument('[name]', 'of somebody new', filled),
  )
    .addOption(new Option('--role <role>', 'what he may do').choices(ROLES).makeOptionMandatory())
    .addOption(new Option('--kind <kind>', 'of somebody new (default: person)').choices(KINDS))
    .option('--principal <id>', 'somebody of the organisation', filled)
    .addOption(requestId())
    .action(add);
  members
    .command('role')
    .description('Changes the role of a member.')
    .argument('<principal>', 'as "precedent members" shows it', filled)
    .argument('<role>', ROLES.join(', '), filled)
    .action((principal: string, role: string, options: OutputOptions) =>
      carryOut(
        options,
        'precedent.member/1',
        (api) => api.post<ChangedMember>(['members', principal, 'role'], { role }),
        memberLines,
      ),
    );
  members
    .command('remove')
    .description('Ends a membership; the keys of the member end with it.')
    .argument('<principal>', 'as "precedent members" shows it', filled)
    .requiredOption('--reason <text>', 'why', filled)
    .action((principal: string, options: OutputOptions & { reason: string }) =>
      carryOut(
        options,
        'precedent.member/1',
        (api) =>
          api.post<ChangedMember>(['members', principal, 'removal'], { reason: options.reason }),
        memberLines,
      ),
    );
}

function list(options: OutputOptions & { former?: boolean }): Promise<void> {
  return showList<Members>(options, {
    schema: 'precedent.members/1',
    path: ['members'],
    query: { include_former: options.former === true ? 'true' : undefined },
    what: 'member',
    columns: {
      principal: (m) => cell(m.principal),
      role: (m) => (m.active ? cell(m.role) : 'former'),
      kind: (m) => cell(m.kind),
      since: (m) => when(m.since),
      name: (m) => cell(m.name),
    },
  });
}

function add(name: string | undefined, options: AddOptions): Promise<void> {
  const { role, kind, principal, requestId: request_id } = options;
  const body = present({ name, role, kind, principal, identity: identityOf(options), request_id });
  return carryOut(
    options,
    'precedent.member/1',
    (api) => api.post<ChangedMember>(['members'], body),
    memberLines,
  );
}

function memberLines(member: ChangedMember, paint: Paint): string[] {
  return [
    `${paint.bold(cell(member.name))} ${member.active ? `is ${cell(member.role)}` : 'is no longer a member'}`,
    field(paint, 'principal', cell(member.principal)),
    field(paint, 'kind', cell(member.kind)),
  ];
}
