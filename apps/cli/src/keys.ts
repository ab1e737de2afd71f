import { InvalidArgumentError, type Command } from 'commander';
import type { ChangedCredential, Credential, Credentials } from '#access/contract-credentials.js';
import type { LogKeyList, Rotated } from '#ledger/contract-log.js';
import { cell, requestId, seconds, showList } from './administration.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import { outputFor, type OutputOptions, type Paint } from './output.js';
import { field, when } from './words.js';

const SHORT = 'public part of the key, as "precedent keys" shows it';

interface IssueOptions extends OutputOptions {
  label?: string;
  toolset?: string[];
  expires?: string;
  requestId?: string;
}

interface RerollOptions extends OutputOptions {
  overlap?: number;
  expires?: string;
  requestId?: string;
}

export function keysVerb(program: Command): void {
  const keys = program
    .command('keys')
    .helpCommand(false)
    .summary('keys of the workspace: list, issue, reroll, revoke; the key of its log')
    .description(
      'Keys of the workspace for admins and owners, for others their own. "log" and "rotate-log" are about the key that signs the log.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent keys\n  precedent keys issue p0123456789abcdef --label ci --expires 2027-01-01\n' +
        '  precedent keys reroll Zu4HoGJB --overlap 86400\n  precedent keys revoke Zu4HoGJB --reason "laptop lost"\n' +
        '  precedent keys log\n  precedent keys rotate-log\n',
    );
  keys
    .command('list', { isDefault: true })
    .description('The valid keys.')
    .option('--principal <id>', 'only of this member', filled)
    .option('--ended', 'expired and revoked ones too')
    .action(list);
  keys
    .command('issue')
    .description('Issues a key and prints it, this once.')
    .argument('[principal]', 'a member; default yourself', filled)
    .option('--label <text>', 'what it is for', filled)
    .option('--toolset <name>', 'limits the key to this; repeat it for more', toolset)
    .option('--expires <date>', 'from then on it is refused')
    .addOption(requestId())
    .action(issue);
  keys
    .command('reroll')
    .description('Gives a key a new secret and prints it, this once.')
    .argument('<short>', SHORT, filled)
    .option('--overlap <seconds>', 'how long the secret of now stays valid (default: not)', seconds)
    .option('--expires <date>', 'a new expiry')
    .addOption(requestId())
    .action(reroll);
  keys
    .command('revoke')
    .description('Ends a key: its next request is refused.')
    .argument('<short>', SHORT, filled)
    .requiredOption('--reason <text>', 'why', filled)
    .action((short: string, options: OutputOptions & { reason: string }) =>
      change(options, [bare(short), 'revocation'], { reason: options.reason }),
    );
  keys
    .command('log')
    .description(
      'The public keys of the log of the workspace, for auditors; the last one signs. With --data those of all logs of a folder.',
    )
    .option('--data <folder>', 'a data folder or a copy of one, in place of a server', filled)
    .action((options: OutputOptions & { data?: string }) =>
      options.data === undefined ? logKeys(options) : logKeysIn(options, options.data),
    );
  keys
    .command('rotate-log')
    .description(
      'Lets a new key sign all logs of the server, for the operator. The key of now signs that the new one follows; what it signed stays valid.',
    )
    .option('--lost', 'the key of now is gone: nobody but you stands for the new one')
    .option('--reason <text>', 'how it was lost; stays in the log for ever', filled)
    .action(rotateLog);
}

const LOG_KEYS = ['log', 'keys'] as const;

function logKeys(options: OutputOptions): Promise<void> {
  return carryOut(
    options,
    'precedent.log-keys/1',
    (api) => api.get<LogKeyList>(LOG_KEYS),
    logKeyLines,
  );
}

/** What the folder itself says. */
async function logKeysIn(options: OutputOptions, data: string): Promise<void> {
  const output = outputFor(options);
  const { openSource } = await import('./source.js');
  const { parseVkey } = await import('#transparency/note.js');
  const source = await openSource({ data });
  try {
    const vkeys = (await source.vkeys()).split('\n').filter((line) => line !== '');
    const keys = vkeys.map((vkey) => {
      const { name, publicKey } = parseVkey(vkey);
      const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
      return { origin: name, vkey, public_key: pem };
    });
    if (output.readable)
      output.say(keys.flatMap((k) => [cell(k.vkey), ...k.public_key.trimEnd().split('\n')]));
    else output.json('precedent.all-log-keys/1', { keys });
  } finally {
    await source.close();
  }
}

function rotateLog(options: OutputOptions & { lost?: true; reason?: string }): Promise<void> {
  const { lost, reason } = options;
  return carryOut(
    options,
    'precedent.log-keys/1',
    async (api) => {
      const { keys } = await api.get<LogKeyList>(LOG_KEYS);
      const from = keys.at(-1)?.vkey;
      return api.post<Rotated>([...LOG_KEYS, 'rotations'], present({ from, lost, reason }));
    },
    (rotated, paint) => [
      ...logKeyLines(rotated, paint),
      rotated.finished
        ? 'Every log of the server has the new key; the former one is deleted.'
        : 'Some logs wait for the new key; they get it before they are signed again.',
    ],
  );
}

function logKeyLines({ origin, keys, public_key }: LogKeyList, paint: Paint): string[] {
  return [
    `${paint.bold('log')} ${cell(origin)}`,
    ...keys.map(({ vkey, how, position, reason }) =>
      [
        cell(vkey),
        paint.dim(`${how} at ${position}${reason === undefined ? '' : `: ${cell(reason)}`}`),
      ].join('  '),
    ),
    ...public_key.trimEnd().split('\n').map(cell),
  ];
}

function toolset(text: string, before: readonly string[] = []): string[] {
  if (before.includes(text)) throw new InvalidArgumentError(`"${text}" is given twice.`);
  return [...before, filled(text)];
}

/** People copy `prec_<short>` from the log or a receipt. */
const bare = (short: string): string => short.replace(/^prec_/, '');

function list(options: OutputOptions & { principal?: string; ended?: boolean }): Promise<void> {
  const { principal, ended } = options;
  const timeOr = (text: string | undefined) => (text === undefined ? '-' : when(text));
  return showList<Credentials>(options, {
    schema: 'precedent.keys/1',
    path: ['credentials'],
    query: { principal, include_ended: ended === true ? 'true' : undefined },
    what: 'key',
    columns: {
      key: (k) => cell(k.short),
      principal: (k) => cell(k.principal),
      state: (k) => cell(k.state),
      expires: (k) => timeOr(k.expires_at),
      'last used': (k) => timeOr(k.last_used_at),
      'limited to': (k) => cell(k.toolsets?.join(',')),
      label: (k) => cell(k.label),
    },
  });
}

function issue(principal: string | undefined, options: IssueOptions): Promise<void> {
  const { label, toolset: toolsets, expires: expires_at, requestId: request_id } = options;
  return change(options, [], present({ principal, label, toolsets, expires_at, request_id }));
}

function reroll(short: string, options: RerollOptions): Promise<void> {
  const { overlap: overlap_seconds, expires: expires_at, requestId: request_id } = options;
  return change(
    options,
    [bare(short), 'reroll'],
    present({ overlap_seconds, expires_at, request_id }),
  );
}

function change(options: OutputOptions, path: readonly string[], body: object): Promise<void> {
  return carryOut(
    options,
    'precedent.key/1',
    (api) => api.post<ChangedCredential>(['credentials', ...path], body),
    keyLines,
  );
}

function keyLines(given: ChangedCredential, paint: Paint): string[] {
  const { key } = given;
  return [
    `${paint.bold(cell(given.short))} is ${cell(given.state)}`,
    ...(key === undefined ? [] : [field(paint, 'key', cell(key))]),
    ...details(given, paint),
  ];
}

function details(key: Credential, paint: Paint): string[] {
  const shown: [string, string | undefined][] = [
    ['principal', key.principal],
    ['kind', key.kind],
    ['label', key.label === '' ? undefined : key.label],
    ['limited to', key.toolsets?.join(', ')],
    ['expires', key.expires_at && when(key.expires_at)],
    ['former', key.former_until && `valid until ${when(key.former_until)}`],
  ];
  return shown.flatMap(([name, text]) =>
    text === undefined ? [] : [field(paint, name, cell(text))],
  );
}
