import { unreachable } from '#kernel/decider.js';
import { EMPTY, applied } from './ontology-content.js';
import type { OntologyContent, OntologyEvent, StoredOperation } from './ontology.events.js';

export interface Proposal {
  id: string;
  kind: 'ontology' | 'change' | 'rollback';
  status: 'open' | 'approved' | 'rejected';
  baseVersion: number;
  hash: string;
  proposedBy: string;
  /** When it was recorded, in milliseconds UTC. */
  atMs: number;
  /** What it leads to: steps from its base, or a whole former ontology. */
  leads: { change: readonly StoredOperation[] } | { content: OntologyContent };
}

export interface Ontology {
  /** 0: none is active. */
  version: number;
  content: OntologyContent;
  proposals: Map<string, Proposal>;
  /** The proposal that made each version, from version 1 on. */
  made: Proposal[];
}

export function leadsTo(
  { leads }: Pick<Proposal, 'leads'>,
  base: OntologyContent,
): OntologyContent {
  return 'content' in leads ? leads.content : applied(base, leads.change);
}

/** The ontology as it was in a version. */
export function contentOf({ made }: Pick<Ontology, 'made'>, version: number): OntologyContent {
  return made.slice(0, version).reduce((content, made) => leadsTo(made, content), EMPTY);
}

export function evolve(ontology: Ontology, event: OntologyEvent, atMs: number): Ontology {
  switch (event.type) {
    case 'OntologyProposed':
      keep(ontology, event.data, { kind: 'ontology', leads: event.data, atMs });
      return ontology;
    case 'OntologyChangeProposed':
      keep(ontology, event.data, { kind: 'change', leads: event.data, atMs });
      return ontology;
    case 'OntologyRollbackPrepared':
      keep(ontology, event.data, { kind: 'rollback', leads: event.data, atMs });
      return ontology;
    case 'OntologyProposalApproved': {
      const proposal = ontology.proposals.get(event.data.proposal_id);
      if (!proposal) return ontology;
      proposal.status = 'approved';
      ontology.content = leadsTo(proposal, ontology.content);
      ontology.version = event.data.version;
      ontology.made.push(proposal);
      return ontology;
    }
    case 'OntologyProposalRejected': {
      const proposal = ontology.proposals.get(event.data.proposal_id);
      if (proposal) proposal.status = 'rejected';
      return ontology;
    }
    default:
      return unreachable(event);
  }
}

function keep(
  ontology: Ontology,
  data: { proposal_id: string; base_version: number; content_hash: string; proposed_by: string },
  more: Pick<Proposal, 'kind' | 'leads' | 'atMs'>,
): void {
  ontology.proposals.set(data.proposal_id, {
    id: data.proposal_id,
    status: 'open',
    baseVersion: data.base_version,
    hash: data.content_hash,
    proposedBy: data.proposed_by,
    ...more,
  });
}
