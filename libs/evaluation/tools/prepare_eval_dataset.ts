import { tool } from '#mcp/tool.js';
import { DatasetReceipt, PrepareDatasetInput } from '../contract.js';
import { PrepareDataset } from '../messages.js';

export default tool({
  name: 'prepare_eval_dataset',
  title: 'Prepare an evaluation dataset',
  description:
    'Stores a draft set of 1 to 20 decision questions with the answers that a person expects. ' +
    'It cannot be changed afterwards; the same content again is the same dataset. Preparing approves nothing and asks the resolver nothing. ' +
    'Use it with answers that a person wrote down from the sources; never fill them in from resolve_decision_state, or it is measured against itself. ' +
    'Needs a governor of the workspace.',
  toolset: 'evaluation',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  governs: true,
  input: PrepareDatasetInput,
  output: DatasetReceipt,
  run: (input, caller, bus) => bus.commands.execute(new PrepareDataset(caller, input)),
});
