import { tool } from '#mcp/tool.js';
import { StartOntologyInput } from '../contract-ontology.js';
import { OntologyReceipt } from '../contract-ontology-view.js';
import { StartOntology } from '../messages.js';

export default tool({
  name: 'start_ontology',
  title: 'Propose an ontology',
  description:
    'Proposes a small ontology (topics, scopes, source types, authority rules) from a description. ' +
    'Use it to begin, or to add several things at once. Give a structured draft, or Markdown with lists under the headings Topics, Scopes, Source types and Authority. ' +
    'It only proposes: an admin or owner approves with edit_ontology in a separate call. ' +
    'With an active ontology it proposes what is missing and removes nothing. Do not use it for single changes: that is edit_ontology.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  input: StartOntologyInput,
  output: OntologyReceipt,
  run: (input, caller, bus) => bus.commands.execute(new StartOntology(caller, input)),
});
