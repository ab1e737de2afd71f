import { tool } from '#mcp/tool.js';
import { Answer, ResolveInput } from '../contract.js';
import { ResolveDecisionState } from '../messages.js';

export default tool({
  name: 'resolve_decision_state',
  title: 'What is decided?',
  description:
    'The decision in force for a question, with scope, time, approvers, sources, superseded history and conflicts. ' +
    'Use it before you act on anything that may have been decided. Only the name or an alias of a topic, in `question` or `topic`, ' +
    'yields a decision; other words yield candidate topics: ask again with one of them. Do not treat candidates, history or ' +
    'excerpts as decisions in force. For everything that happened in a topic use get_decision_history.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: ResolveInput,
  output: Answer,
  run: (input, caller, bus) => bus.queries.execute(new ResolveDecisionState(caller, input)),
});
