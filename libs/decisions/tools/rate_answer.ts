import { tool } from '#mcp/tool.js';
import { RateInput, RateReceipt } from '../contract-conflicts.js';
import { RateAnswer } from '../messages.js';

export default tool({
  name: 'rate_answer',
  title: 'Rate an answer',
  description:
    'Rates a captured answer of resolve_decision_state by its call_id. ' +
    'Use it when a person says whether an answer was right; your latest rating of an answer counts. ' +
    'It changes no decision, and is refused while the workspace does not capture answers.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  input: RateInput,
  output: RateReceipt,
  run: (input, caller, bus) => bus.commands.execute(new RateAnswer(caller, input)),
});
