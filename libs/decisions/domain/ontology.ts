import { unreachable, type Decider } from '#kernel/decider.js';
import { canonicalJson, sha256 } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { nameKey } from '#kernel/text.js';
import { Draft, EMPTY, mergeTopics, namesOf } from './ontology-content.js';
import { differences } from './ontology-diff.js';
import { stepsTowards, type Wanted } from './ontology-draft.js';
import { nameInUse, notThis, refuseTooLarge, stale, tooLarge } from './ontology-guards.js';
import { accept, type Given } from './ontology-operations.js';
import { contentOf, evolve, leadsTo, type Ontology, type Proposal } from './ontology-state.js';
import { ONTOLOGY_LIMITS, type Recorded } from './ontology-step.js';
import type { OntologyContent, OntologyEvent, StoredOperation } from './ontology.events.js';

interface By {
  proposedBy: string;
  reason?: string | undefined;
}

export type OntologyCommand =
  | ({ type: 'Start'; description: string; wanted: Wanted; place: string; recorded: Recorded } & By)
  | ({
      type: 'Propose';
      change: readonly StoredOperation[];
      recorded: Recorded;
      /** The version that the proposer looked at; default the active one. */
      baseVersion?: number | undefined;
    } & By)
  | ({ type: 'PrepareRollback'; toVersion: number } & By)
  | {
      type: 'Approve';
      proposalId: string;
      contentHash: string;
      reason?: string | undefined;
      approver: string;
      /** The proposer may not approve. */
      fourEyes: boolean;
    }
  | { type: 'Reject'; proposalId: string; reason: string; contentHash?: string | undefined };

function decide(command: OntologyCommand, ontology: Ontology): OntologyEvent[] {
  switch (command.type) {
    case 'Start':
    case 'Propose':
    case 'PrepareRollback': {
      const proposal = prepare(command, ontology);
      if (openTwin(ontology, proposal)) return [];
      refuseTooMany(ontology);
      return [proposal];
    }
    case 'Approve':
      return approve(command, ontology);
    case 'Reject': {
      const { id, hash } = open(ontology, command.proposalId);
      if (command.contentHash !== undefined && command.contentHash !== hash) throw notThis(hash);
      return [
        { type: 'OntologyProposalRejected', data: { proposal_id: id, reason: command.reason } },
      ];
    }
    default:
      return unreachable(command);
  }
}

export type ProposingCommand = Extract<
  OntologyCommand,
  { type: 'Start' | 'Propose' | 'PrepareRollback' }
>;
type ProposalEvent = Extract<
  OntologyEvent,
  { type: 'OntologyProposed' | 'OntologyChangeProposed' | 'OntologyRollbackPrepared' }
>;

/** The open proposal that a command asks for again; sent twice it is made once. */
export function repeated(command: ProposingCommand, ontology: Ontology): Proposal | undefined {
  return openTwin(ontology, prepare(command, ontology));
}

function openTwin(ontology: Ontology, { data }: ProposalEvent): Proposal | undefined {
  return [...ontology.proposals.values()].find(
    (p) => p.status === 'open' && p.hash === data.content_hash,
  );
}

function prepare(command: ProposingCommand, ontology: Ontology): ProposalEvent {
  switch (command.type) {
    case 'Start': {
      const steps = stepsTowards(command.wanted, ontology.content, command.place);
      const { description } = command;
      const data = proposed(command, ontology, steps, 'description');
      return { type: 'OntologyProposed', data: { ...data, description } };
    }
    case 'Propose': {
      if (command.baseVersion !== undefined && command.baseVersion !== ontology.version)
        throw staleProposal('base_version', command.baseVersion, ontology);
      const steps = command.change.map((step, i) => ({ step, path: `change[${i}]` }));
      const data = proposed(command, ontology, steps, 'change');
      return { type: 'OntologyChangeProposed', data: { ...data, ...reasonOf(command) } };
    }
    case 'PrepareRollback':
      return rollback(command, ontology);
    default:
      return unreachable(command);
  }
}

function proposed(
  command: { recorded: Recorded } & By,
  ontology: Ontology,
  given: readonly Given[],
  path: string,
) {
  const draft = new Draft(ontology.content);
  const change = accept(draft, given, command.recorded);
  const content = draft.content();
  refuseTooLarge(content);
  refuseUnchanged(ontology, content, path);
  return {
    proposal_id: nextId(ontology),
    base_version: ontology.version,
    change,
    content_hash: hashOf(ontology.version, change, content),
    proposed_by: command.proposedBy,
  };
}

function reasonOf({ reason }: { reason?: string | undefined }) {
  return reason === undefined ? {} : { reason };
}

/** A former version as a proposal. Topics that were merged since stay merged: their records have been joined. */
function rollback(command: { toVersion: number } & By, ontology: Ontology): ProposalEvent {
  const { toVersion } = command;
  if (toVersion > ontology.version)
    throw invalid(
      'to_version',
      `there is no version ${toVersion}; ${ontology.version} is the latest`,
      'take a version that get_ontology lists',
    );
  const content = restored(contentOf(ontology, toVersion), ontology.content);
  refuseUnchanged(ontology, content, 'to_version');
  return {
    type: 'OntologyRollbackPrepared',
    data: {
      proposal_id: nextId(ontology),
      base_version: ontology.version,
      to_version: toVersion,
      content,
      content_hash: hashOf(ontology.version, toVersion, content),
      proposed_by: command.proposedBy,
      ...reasonOf(command),
    },
  };
}

function restored(former: OntologyContent, present: OntologyContent): OntologyContent {
  const draft = new Draft(former);
  const now = new Draft(present);
  for (const merge of present.merged.slice(former.merged.length)) {
    const target = now.topics.get(merge.into);
    if (target && draft.topics.has(merge.topic) && !draft.topics.has(merge.into)) {
      const { parent, ...rest } = target;
      const aliases = rest.aliases.filter((alias) => !draft.names.has(nameKey(alias)));
      for (const name of [rest.id, rest.name])
        if (draft.names.has(nameKey(name))) throw nameInUse(name, merge.into);
      const above = parent !== undefined && draft.topics.has(parent) ? { parent } : {};
      draft.putTopic({ ...rest, aliases, ...above });
    }
    mergeTopics(draft, merge);
  }
  return draft.content();
}

function approve(
  command: Extract<OntologyCommand, { type: 'Approve' }>,
  ontology: Ontology,
): OntologyEvent[] {
  const proposal = open(ontology, command.proposalId);
  if (command.contentHash !== proposal.hash) throw notThis(proposal.hash);
  if (proposal.baseVersion !== ontology.version)
    throw staleProposal('proposal_id', proposal.baseVersion, ontology);
  if (command.fourEyes && command.approver === proposal.proposedBy)
    throw new Refusal(
      'forbidden',
      'four_eyes',
      'who proposed a change does not approve it in this organisation',
      {
        path: 'proposal_id',
        issues: [{ path: 'proposal_id', problem: 'it is your own proposal' }],
        fix: 'ask another admin or owner',
      },
    );
  const content = leadsTo(proposal, ontology.content);
  return [
    {
      type: 'OntologyProposalApproved',
      data: {
        proposal_id: proposal.id,
        version: ontology.version + 1,
        content_hash: proposal.hash,
        ...reasonOf(command),
        named: newNames(ontology.content, content),
        merges: content.merged.slice(ontology.content.merged.length),
      },
    },
  ];
}

function newNames(before: OntologyContent, after: OntologyContent) {
  const known = new Map(before.topics.map((topic) => [topic.id, new Set(namesOf(topic))]));
  return after.topics.flatMap((topic) => {
    const names = namesOf(topic).filter((name) => !known.get(topic.id)?.has(name));
    return names.length === 0 ? [] : [{ topic: topic.id, names: [...new Set(names)] }];
  });
}

function open(ontology: Ontology, id: string): Proposal {
  const proposal = ontology.proposals.get(id);
  if (!proposal)
    throw new Refusal('not_found', 'unknown_proposal', `no ontology proposal ${id}`, {
      path: 'proposal_id',
      issues: [{ path: 'proposal_id', problem: 'is no ontology proposal of this workspace' }],
      fix: 'take an id from get_ontology',
    });
  if (proposal.status === 'open') return proposal;
  throw new Refusal('conflict', 'already_decided', `${id} is ${proposal.status} already`, {
    path: 'proposal_id',
    issues: [{ path: 'proposal_id', problem: `its status is ${proposal.status}, not open` }],
    fix: 'propose the change again if it is still wanted',
  });
}

/** Those that build on the active version; what is outdated waits for nobody. */
function refuseTooMany(ontology: Ontology): void {
  const waiting = [...ontology.proposals.values()].filter(
    (p) => p.status === 'open' && p.baseVersion === ontology.version,
  ).length;
  if (waiting >= ONTOLOGY_LIMITS.openProposals)
    throw tooLarge('action', waiting + 1, ONTOLOGY_LIMITS.openProposals, 'open proposals');
}

const nextId = (ontology: Ontology): string => `ontology-${ontology.proposals.size + 1}`;

function hashOf(
  baseVersion: number,
  what: number | readonly StoredOperation[],
  content: OntologyContent,
): string {
  return sha256(canonicalJson({ base_version: baseVersion, what, content }));
}

function staleProposal(path: string, base: number, ontology: Ontology): Refusal {
  const since =
    base < ontology.version ? differences(contentOf(ontology, base), ontology.content) : [];
  return stale(path, base, ontology.version, since);
}

function refuseUnchanged(ontology: Ontology, content: OntologyContent, path: string): void {
  if (canonicalJson(content) !== canonicalJson(ontology.content)) return;
  throw new Refusal('conflict', 'nothing_to_change', 'the active ontology is already like that', {
    path,
    issues: [{ path, problem: `leads to what version ${ontology.version} has` }],
    fix: 'see get_ontology for the active version',
  });
}

export const ontologyDecider: Decider<Ontology, OntologyCommand, OntologyEvent> = {
  initial: () => ({ version: 0, content: EMPTY, proposals: new Map(), made: [] }),
  decide,
  evolve,
};
