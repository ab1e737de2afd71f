import { tool } from '#mcp/tool.js';
import { Intelligence, IntelligenceInput } from '../contract-intelligence.js';
import { GetIntelligence } from '../messages.js';

export default tool({
  name: 'get_intelligence',
  title: 'Evaluation results',
  description:
    'Datasets with their cases, review state and runs, and what a run expected, observed and checked, case by case. ' +
    'Without arguments it lists the datasets; name a dataset, or a run and another one to compare it with. ' +
    'Use it to inspect a dataset before it is approved, and to see why a check failed. ' +
    'What a case expects is a person’s expectation and never a decision: ask resolve_decision_state for those.',
  toolset: 'evaluation',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: IntelligenceInput,
  output: Intelligence,
  run: (input, caller, bus) => bus.queries.execute(new GetIntelligence(caller, input)),
});
