import { InvalidArgumentError, type Command } from 'commander';
import type {
  EditOntologyReceipt,
  Ontology,
  OntologyContentView,
  OntologyDifference,
  OntologyProposal,
  OntologyReceipt,
} from '#decisions/contract-ontology-view.js';
import { carryOut, present } from './carry-out.js';
import { filled } from './options.js';
import { inline, type OutputOptions, type Paint } from './output.js';
import { counted, field, section, when } from './words.js';
import { jsonInput, readInput } from './written-input.js';

interface ShowOptions extends OutputOptions {
  knownAt?: string;
}

interface ProposeOptions extends OutputOptions {
  reason?: string;
  base?: number;
}

const PROPOSAL = 'as "precedent ontology" shows it';
const FILE = 'a file, or - for standard input';

export function ontologyVerb(program: Command): void {
  const ontology = program
    .command('ontology')
    .helpCommand(false)
    .summary('topics, scopes, source types and authority: show, propose, approve')
    .description(
      'The ontology of the workspace. A change is proposed first and approved by another command.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent ontology\n  precedent ontology start ontology.md\n' +
        '  precedent ontology propose change.json --reason "agreed on Monday"\n' +
        '  precedent ontology approve ontology-3 --content-hash 5f1c…\n  precedent ontology rollback 2 --reason "too early"\n',
    );
  ontology
    .command('show', { isDefault: true })
    .description('What is active, the versions so far and the proposals that wait.')
    .argument('[version]', 'the ontology of this version instead', version)
    .option('--known-at <time>', 'what was known then? A date, an instant or a log position')
    .action(show);
  ontology
    .command('start')
    .description('Proposes an ontology from Markdown, or from a draft in JSON.')
    .argument('<file>', FILE, filled)
    .action(start);
  ontology
    .command('propose')
    .description(
      'Proposes a change: a JSON list of steps such as {"op": "add_topic", "name": "Terms"}.',
    )
    .argument('<file>', FILE, filled)
    .option('--reason <text>', 'why', filled)
    .option(
      '--base <version>',
      'the version that you looked at: refused if another is active',
      version,
    )
    .action(propose);
  ontology
    .command('approve')
    .description('Makes a proposal the next version. Needs an admin or owner.')
    .argument('<proposal>', PROPOSAL, filled)
    .requiredOption('--content-hash <hash>', 'of the proposal that you inspected', filled)
    .option('--reason <text>', 'why', filled)
    .action((id: string, options: OutputOptions & { contentHash: string; reason?: string }) =>
      edit(options, {
        action: 'approve',
        proposal_id: id,
        content_hash: options.contentHash,
        ...present({ reason: options.reason }),
      }),
    );
  ontology
    .command('reject')
    .description('Ends a proposal. Needs an admin or owner.')
    .argument('<proposal>', PROPOSAL, filled)
    .requiredOption('--reason <text>', 'why', filled)
    .action((id: string, options: OutputOptions & { reason: string }) =>
      edit(options, { action: 'reject', proposal_id: id, reason: options.reason }),
    );
  ontology
    .command('rollback')
    .description('Proposes to go back to a version. Merged topics stay merged.')
    .argument('<version>', 'the version', version)
    .option('--reason <text>', 'why', filled)
    .action((to: number, { reason, ...options }: ProposeOptions) =>
      edit(options, { action: 'rollback', to_version: to, ...present({ reason }) }),
    );
}

function version(given: string): number {
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new InvalidArgumentError('Give the number of a version.');
}

const textOf = (file: string): Promise<string> =>
  readInput(file, 'give a file that exists, or - for standard input');

const jsonIn = (file: string, given: string): unknown =>
  jsonInput(file, given, 'is no JSON', 'correct it and try again');

function show(wanted: number | undefined, options: ShowOptions): Promise<void> {
  return carryOut(
    options,
    'precedent.ontology/1',
    (api) =>
      api.get<Ontology>(['ontology'], {
        version: wanted?.toString(),
        known_at: options.knownAt,
        limit: '200',
      }),
    ontologyLines,
  );
}

/** JSON with a draft in it, or Markdown. */
async function start(file: string, options: OutputOptions): Promise<void> {
  const given = await textOf(file);
  const body = /^\s*\{/.test(given)
    ? { description: `draft from ${file}`, draft: jsonIn(file, given) }
    : { description: given };
  await carryOut(
    options,
    'precedent.ontology-proposal/1',
    (api) => api.post<OntologyReceipt>(['ontology', 'drafts'], body),
    ({ proposal }, paint) => proposalLines(proposal, paint),
    approval,
  );
}

async function propose(file: string, options: ProposeOptions): Promise<void> {
  const { base: base_version, reason } = options;
  const change = jsonIn(file, await textOf(file));
  await edit(options, { action: 'propose', change, ...present({ base_version, reason }) });
}

function edit(options: OutputOptions, body: object): Promise<void> {
  return carryOut(
    options,
    'precedent.ontology-change/1',
    (api) => api.post<EditOntologyReceipt>(['ontology', 'changes'], body),
    receiptLines,
    (receipt) => (receipt.status === 'open' ? approval(receipt) : undefined),
  );
}

function receiptLines(receipt: EditOntologyReceipt, paint: Paint): string[] {
  const active = receipt.version === undefined ? '' : `: version ${receipt.version} is active`;
  return [
    `${paint.bold(inline(receipt.proposal_id))} is ${paint.green(inline(receipt.status))}${active}`,
    field(paint, 'hash', inline(receipt.content_hash)),
    ...differenceLines(receipt, paint),
  ];
}

function approval(receipt: { proposal_id: string; content_hash: string }): string {
  return `Approve it: precedent ontology approve ${inline(receipt.proposal_id)} --content-hash ${inline(receipt.content_hash)}`;
}

function ontologyLines(found: Ontology, paint: Paint): string[] {
  const shown = found.requested ?? found.active;
  const open = found.proposals.filter((p) => p.status === 'open');
  return [
    ...contentLines(shown, found.active.version, paint),
    ...section(
      paint,
      'Versions',
      found.versions.map((v) => [
        `  ${v.version}  ${when(v.approved_at)}  ${inline(v.kind)}, ${counted(v.diff_total, 'difference')}, by ${inline(v.approved_by)}`,
      ]),
    ),
    ...section(
      paint,
      'Proposals',
      open.map((p) => proposalLines(p, paint)),
    ),
  ];
}

function contentLines(shown: OntologyContentView, active: number, paint: Paint): string[] {
  if (shown.version === 0)
    return ['No ontology is active yet: "precedent ontology start" proposes one.'];
  const state = shown.version === active ? 'active' : `past; ${active} is active`;
  return [
    paint.bold(`Ontology, version ${shown.version} (${state})`),
    ...section(
      paint,
      'Topics',
      shown.topics.map((topic) => [
        `  ${inline(topic.name)}${topic.aliases.length > 0 ? ` (${topic.aliases.map(inline).join(', ')})` : ''}`,
        field(paint, 'id', inline(topic.id), '    '),
        ...(topic.parent === undefined
          ? []
          : [field(paint, 'below', inline(topic.parent), '    ')]),
        ...(topic.succession === 'stated'
          ? []
          : [field(paint, 'succession', inline(topic.succession), '    ')]),
      ]),
    ),
    ...section(
      paint,
      'Scopes',
      shown.dimensions.map((d) => [
        `  ${inline(d.name)}${d.open ? '' : ' (closed)'}: ${d.values.map((v) => inline(v.parent === undefined ? v.value : `${v.value} < ${v.parent}`)).join(', ')}`,
      ]),
    ),
    ...section(
      paint,
      'Source types',
      shown.source_types.map((type) => [`  ${inline(type.name)}`]),
    ),
    ...section(
      paint,
      'Authority',
      shown.authority.map((rule) => [
        `  ${inline(rule.topic)}${rule.source_type === undefined ? '' : `, ${inline(rule.source_type)}`}: ${[...(rule.role === undefined ? [] : [rule.role]), ...rule.persons].map(inline).join(', ')}`,
      ]),
    ),
    ...section(
      paint,
      'Merged',
      shown.merged.map(({ topic, into }) => [`  ${inline(topic)} into ${inline(into)}`]),
    ),
  ];
}

function proposalLines(proposal: OntologyProposal, paint: Paint): string[] {
  return [
    `  ${paint.yellow(inline(proposal.kind))}  ${paint.bold(inline(proposal.proposal_id))}, on version ${proposal.base_version}`,
    ...(proposal.reason === undefined
      ? []
      : [field(paint, 'reason', inline(proposal.reason), '    ')]),
    field(
      paint,
      'since',
      `${when(proposal.proposed_at)}, by ${inline(proposal.proposed_by)}`,
      '    ',
    ),
    field(paint, 'hash', inline(proposal.content_hash), '    '),
    ...differenceLines(proposal, paint),
  ];
}

function differenceLines(
  { diff, diff_total }: { diff: readonly OntologyDifference[]; diff_total: number },
  paint: Paint,
): string[] {
  const more = diff_total - diff.length;
  return [
    ...diff.map(
      ({ kind, what, id, field: property, before, after }) =>
        `    ${paint.dim(inline(kind).padEnd(8))} ${inline(what)} ${inline(id)}` +
        (property === undefined ? '' : `, ${inline(property)}`) +
        (kind === 'changed' ? `: ${inline(before ?? 'none')} → ${inline(after ?? 'none')}` : '') +
        (kind === 'added' && after !== undefined && after !== '' ? `: ${inline(after)}` : '') +
        (kind === 'merged' ? ` into ${inline(after ?? '')}` : ''),
    ),
    ...(more > 0 ? [`    and ${counted(more, 'more difference')}`] : []),
  ];
}
