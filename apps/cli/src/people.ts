import type { Command } from 'commander';
import type { ChangedPrincipal, Principals } from '#access/contract-credentials.js';
import {
  cell,
  identityOf,
  showList,
  withIdentity,
  type IdentityOptions,
} from './administration.js';
import { carryOut } from './carry-out.js';
import type { Invitation } from '../../server/src/accounts.contract.js';
import { filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { field, when } from './words.js';

const PRINCIPAL = 'as "precedent people" shows it';

export function peopleVerb(program: Command): void {
  const people = program
    .command('people')
    .helpCommand(false)
    .summary('everybody and everything that acts in the organisation')
    .description('People, agents and services of the organisation. Needs an owner of it.')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent people\n  precedent people invite p0123456789abcdef --login anna@example.com\n  precedent people link p0123456789abcdef --issuer https://id.example.com --subject 4711\n' +
        '  precedent people deactivate p0123456789abcdef --reason "left the company"\n',
    );
  people
    .command('list', { isDefault: true })
    .description('Everybody, deactivated ones included.')
    .action(list);
  for (const [name, path, what] of [
    ['link', ['identities'], 'Lets a person sign in with an identity of an OpenID provider.'],
    ['unlink', ['identities', 'removal'], 'Ends that.'],
  ] as const)
    withIdentity(
      people.command(name).description(what).argument('<principal>', PRINCIPAL, filled),
    ).action((principal: string, options: OutputOptions & IdentityOptions) =>
      change(options, [principal, ...path], { ...identityOf(options) }),
    );
  people
    .command('invite')
    .description(
      'A link with which a person sets a password for an account of this server; works once.',
    )
    .argument('<principal>', PRINCIPAL, filled)
    .requiredOption('--login <name>', 'what the person will type to sign in', filled)
    .action(invite);
  people
    .command('deactivate')
    .description('For ever: memberships and keys end, what was done stays.')
    .argument('<principal>', PRINCIPAL, filled)
    .requiredOption('--reason <text>', 'why', filled)
    .action((principal: string, options: OutputOptions & { reason: string }) =>
      change(options, [principal, 'deactivation'], { reason: options.reason }),
    );
}

function list(options: OutputOptions): Promise<void> {
  return showList<Principals>(options, {
    schema: 'precedent.people/1',
    path: ['principals'],
    what: 'principal',
    columns: {
      principal: (p) => cell(p.principal),
      kind: (p) => cell(p.kind),
      standing: (p) => (p.owner ? 'owner' : p.active ? 'active' : 'deactivated'),
      workspaces: (p) => cell(p.workspaces.map((w) => `${w.workspace} ${w.role}`).join(', ')),
      name: (p) => cell(p.name),
    },
  });
}

function invite(principal: string, options: OutputOptions & { login: string }): Promise<void> {
  return carryOut(
    options,
    'precedent.invitation/1',
    (api) => api.post<Invitation>(['accounts', 'invitations'], { principal, login: options.login }),
    ({ url, login, expires_at }, paint) => [
      `Give this link to the person, and to nobody else: whoever has it can act as ${cell(login)}.`,
      inline(url),
      field(paint, 'holds until', when(expires_at)),
    ],
  );
}

function change(options: OutputOptions, path: readonly string[], body: object): Promise<void> {
  return carryOut(
    options,
    'precedent.principal/1',
    (api) => api.post<ChangedPrincipal>(['principals', ...path], body),
    principalLines,
  );
}

function principalLines(principal: ChangedPrincipal, paint: Paint): string[] {
  return [
    `${paint.bold(cell(principal.name))} is ${principal.active ? 'active' : 'deactivated'}`,
    field(paint, 'principal', cell(principal.principal)),
    ...principal.identities.map((i) =>
      field(paint, 'signs in', `${cell(i.subject)} at ${cell(i.issuer)}`),
    ),
    ...principal.workspaces.map((w) =>
      field(paint, 'member', `${cell(w.workspace)}, ${cell(w.role)}`),
    ),
  ];
}
