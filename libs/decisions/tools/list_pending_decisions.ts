import { tool } from '#mcp/tool.js';
import { Pending, PendingInput } from '../contract-review.js';
import { ListPending } from '../messages.js';

export default tool({
  name: 'list_pending_decisions',
  title: 'Pending decisions',
  description:
    'Candidates, open conflicts, ontology proposals and draft datasets that await review, with their reasons and the content hash to approve by. ' +
    'Use it before review_decision. What it lists is not decided: never act on it.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: PendingInput,
  output: Pending,
  run: (input, caller, bus) => bus.queries.execute(new ListPending(caller, input)),
});
