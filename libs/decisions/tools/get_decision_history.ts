import { tool } from '#mcp/tool.js';
import { History, HistoryInput } from '../contract.js';
import { GetDecisionHistory } from '../messages.js';

export default tool({
  name: 'get_decision_history',
  title: 'Decision history',
  description:
    'The timeline of a topic: proposals, approvals, supersessions, revocations and conflicts in the order of recording, and the current heads. ' +
    'Use it to explain or audit how a decision came about. An empty timeline says why; `decided_since` keeps it to decisions made from then on. ' +
    'For what holds now, resolve_decision_state is shorter.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: HistoryInput,
  output: History,
  run: (input, caller, bus) => bus.queries.execute(new GetDecisionHistory(caller, input)),
});
