import { ontologyDecider, type OntologyCommand } from '#decisions/domain/ontology.js';
import type { Recorded } from '#decisions/domain/ontology-step.js';
import type { OntologyEvent, StoredOperation } from '#decisions/domain/ontology.events.js';
import { nameKey } from '#kernel/text.js';

export const NOTHING: Recorded = new Map();

export function recorded(...topics: { topic: string; name: string; as?: string[] }[]): Recorded {
  const found = new Map<string, { topic: string; name: string }[]>();
  for (const { topic, name, as = [] } of topics)
    for (const key of new Set([topic, name, ...as].map(nameKey)))
      found.set(key, [...(found.get(key) ?? []), { topic, name }]);
  return found;
}

export function propose(
  change: StoredOperation[],
  more: Partial<Extract<OntologyCommand, { type: 'Propose' }>> = {},
): OntologyCommand {
  return { type: 'Propose', change, recorded: NOTHING, proposedBy: 'ann', ...more };
}

/** The events of a story that is told in commands: each proposal is approved at once. */
export function story(...changes: StoredOperation[][]): OntologyEvent[] {
  const events: OntologyEvent[] = [];
  const state = ontologyDecider.initial();
  const run = (command: OntologyCommand): void => {
    const more = ontologyDecider.decide(command, state);
    more.forEach((event) => ontologyDecider.evolve(state, event, 0));
    events.push(...more);
  };
  for (const change of changes) {
    run(propose(change));
    const last = events.at(-1);
    if (last?.type !== 'OntologyChangeProposed') throw new Error('nothing was proposed');
    run(approve(last));
  }
  return events;
}

export function approve(
  { data }: Extract<OntologyEvent, { type: 'OntologyChangeProposed' | 'OntologyProposed' }>,
  more: Partial<Extract<OntologyCommand, { type: 'Approve' }>> = {},
): OntologyCommand {
  return {
    type: 'Approve',
    proposalId: data.proposal_id,
    contentHash: data.content_hash,
    approver: 'olga',
    fourEyes: false,
    ...more,
  };
}

export function contentAfter(events: readonly OntologyEvent[]) {
  return events.reduce((s, e) => ontologyDecider.evolve(s, e, 0), ontologyDecider.initial())
    .content;
}

export const topic = (name: string, more: Partial<StoredOperation> = {}): StoredOperation => ({
  op: 'add_topic',
  name,
  ...more,
});
