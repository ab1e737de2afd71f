import { randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { originOf, Streams, type Executed } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { nameKey } from '#kernel/text.js';
import { isoMs } from '#kernel/time.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import type { EditOntologyInput } from './contract-ontology.js';
import type {
  EditOntologyReceipt,
  Ontology as OntologyDto,
  OntologyReceipt,
} from './contract-ontology-view.js';
import { readDescription } from './domain/ontology-description.js';
import { differences } from './domain/ontology-diff.js';
import type { Wanted } from './domain/ontology-draft.js';
import { repeated, type OntologyCommand, type ProposingCommand } from './domain/ontology.js';
import { namesIn } from './domain/ontology-operations.js';
import { contentOf, leadsTo, type Ontology, type Proposal } from './domain/ontology-state.js';
import type { Recorded } from './domain/ontology-step.js';
import type { OntologyEvent, StoredOperation } from './domain/ontology.events.js';
import { EditOntology, GetOntology, StartOntology } from './messages.js';
import { axesOf } from './projections/answering.js';
import { ontologyOverview, shown } from './projections/ontology-view.js';
import { recordedTopics } from './projections/topics.js';
import { ontologyStream, ontologyStreams } from './streams.js';

type Done = Executed<Ontology, OntologyEvent>;

@CommandHandler(StartOntology)
export class StartOntologyHandler implements ICommandHandler<StartOntology> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, input }: StartOntology): Promise<OntologyReceipt> {
    const { description, draft } = input;
    const wanted: Wanted = draft
      ? { topics: [], dimensions: [], source_types: [], authority: [], ...draft }
      : readDescription(description);
    const names = [
      ...wanted.topics.flatMap((t) => [t.name, ...(t.aliases ?? []), t.parent]),
      ...wanted.authority.map((rule) => rule.topic),
    ];
    const command: ProposingCommand = {
      type: 'Start',
      description,
      wanted,
      place: draft ? 'draft.' : 'description.',
      recorded: await recordedNames(this.models, caller, names),
      proposedBy: caller.principal,
    };
    const done = await execute(this.streams, caller, command);
    const made = proposalOf(done, command);
    const base = contentOf(done.state, made.baseVersion);
    return {
      proposal_id: made.id,
      content_hash: made.hash,
      proposal: {
        proposal_id: made.id,
        kind: made.kind,
        status: made.status,
        base_version: made.baseVersion,
        content_hash: made.hash,
        proposed_by: made.proposedBy,
        proposed_at: isoMs(made.atMs),
        ...shown(differences(base, leadsTo(made, base))),
      },
      position: String(done.position),
    };
  }
}

@CommandHandler(EditOntology)
export class EditOntologyHandler implements ICommandHandler<EditOntology> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, input }: EditOntology): Promise<EditOntologyReceipt> {
    refuseForeignFields(input);
    if (input.action === 'approve' || input.action === 'reject') mayDecide(caller, input.action);
    const command = await this.command(caller, input);
    const done = await execute(this.streams, caller, command);
    // Commands on topics take the rules from the read models: the next one follows this version.
    if (input.action === 'approve') await this.models.settled(done.position);
    const proposal = proposalOf(done, command);
    const base = contentOf(done.state, proposal.baseVersion);
    return {
      proposal_id: proposal.id,
      status: proposal.status,
      content_hash: proposal.hash,
      ...(proposal.status === 'approved' ? { version: done.state.version } : {}),
      ...shown(differences(base, leadsTo(proposal, base))),
      position: String(done.position),
    };
  }

  private async command(caller: Caller, input: EditOntologyInput): Promise<OntologyCommand> {
    const { reason } = input;
    const proposedBy = caller.principal;
    switch (input.action) {
      case 'propose': {
        const change = stored(needed(input, 'change'));
        const recorded = await recordedNames(this.models, caller, namesIn(change));
        return {
          type: 'Propose',
          change,
          recorded,
          baseVersion: input.base_version,
          reason,
          proposedBy,
        };
      }
      case 'rollback':
        return {
          type: 'PrepareRollback',
          toVersion: needed(input, 'to_version'),
          reason,
          proposedBy,
        };
      case 'approve':
        return {
          type: 'Approve',
          proposalId: needed(input, 'proposal_id'),
          contentHash: needed(input, 'content_hash'),
          reason,
          approver: caller.principal,
          fourEyes: caller.fourEyes,
        };
      case 'reject':
        return {
          type: 'Reject',
          proposalId: needed(input, 'proposal_id'),
          reason: needed(input, 'reason'),
          contentHash: input.content_hash,
        };
    }
  }
}

@QueryHandler(GetOntology)
export class GetOntologyHandler implements IQueryHandler<GetOntology> {
  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  execute({ caller, input }: GetOntology): Promise<OntologyDto> {
    return this.models.read(
      (reads, at) => {
        const { known } = axesOf(reads, caller.workspace, input, this.clock());
        return ontologyOverview(reads, caller.workspace, input, known, at);
      },
      Number(input.at_least ?? 0),
    );
  }
}

function execute(streams: Streams, caller: Caller, command: OntologyCommand): Promise<Done> {
  const stream = ontologyStream(caller.workspace);
  return streams.execute(ontologyStreams, stream, command, originOf(caller, randomUUID()));
}

/** O-07: in both modes an admin or owner, and never an agent. */
function mayDecide({ kind, role }: Caller, action: string): void {
  if (kind !== 'agent' && (role === 'admin' || role === 'owner')) return;
  throw new Refusal(
    'forbidden',
    'requires_admin',
    kind === 'agent'
      ? 'an agent’s key never decides about the ontology'
      : 'only an admin or owner decides about the ontology, whatever the organisation’s mode',
    {
      path: 'action',
      issues: [{ path: 'action', problem: `${action} needs an admin or owner` }],
      fix: 'ask an admin or owner of the workspace; the proposal waits in get_ontology',
    },
  );
}

/** The proposal that a command made or decided; for one sent twice, the open one that says the same. */
function proposalOf({ events, state }: Done, command: OntologyCommand): Proposal {
  const [event] = events;
  const id = event?.data.proposal_id;
  const found =
    id === undefined && 'proposedBy' in command
      ? repeated(command, state)
      : state.proposals.get(id ?? '');
  if (!found) throw new Error('a proposal is not there after it was changed');
  return found;
}

/** Topics that records opened, by every name that a change uses. */
function recordedNames(
  models: ReadModels,
  caller: Caller,
  names: readonly (string | undefined)[],
): Promise<Recorded> {
  const wanted = new Map(names.filter((n) => n !== undefined).map((n) => [nameKey(n), n]));
  return models.read((reads) => {
    const found = [...wanted].map(
      ([key, name]) => [key, recordedTopics(reads, caller.workspace, name)] as const,
    );
    return new Map(found.filter(([, topics]) => topics.length > 0));
  });
}

/** Without fields that are present but undefined, which a stored step does not have. */
function stored(change: readonly object[]): StoredOperation[] {
  return JSON.parse(JSON.stringify(change)) as StoredOperation[];
}

type Action = EditOntologyInput['action'];
type Field = Exclude<keyof EditOntologyInput, 'action'>;

const FIELDS: Readonly<Record<Action, readonly Field[]>> = {
  propose: ['change', 'base_version', 'reason'],
  approve: ['proposal_id', 'content_hash', 'reason'],
  reject: ['proposal_id', 'content_hash', 'reason'],
  rollback: ['to_version', 'reason'],
};

/** O-36: no call proposes and approves. A field that an action does not know is refused. */
function refuseForeignFields(input: EditOntologyInput): void {
  const { action, ...given } = input;
  for (const field of Object.keys(given) as Field[])
    if (given[field] !== undefined && !FIELDS[action].includes(field))
      throw invalid(field, `has no meaning for ${action}`, 'leave it out');
}

function needed<F extends Field>(input: EditOntologyInput, field: F) {
  const value = input[field];
  if (value !== undefined) return value;
  throw invalid(field, `is needed to ${input.action}`, `give ${field}`);
}
