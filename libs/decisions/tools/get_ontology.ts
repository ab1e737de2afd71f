import { tool } from '#mcp/tool.js';
import { OntologyInput } from '../contract-ontology.js';
import { Ontology } from '../contract-ontology-view.js';
import { GetOntology } from '../messages.js';

export default tool({
  name: 'get_ontology',
  title: 'The ontology',
  description:
    'The active ontology and its version history, with what each version changed and the proposals that wait. ' +
    'Use it to learn which topics, scopes and source types exist, and before approving a proposal with edit_ontology. ' +
    'A proposal is not in force: never act on it.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: OntologyInput,
  output: Ontology,
  run: (input, caller, bus) => bus.queries.execute(new GetOntology(caller, input)),
});
