import { tool } from '#mcp/tool.js';
import { RunInput, RunReceipt } from '../contract.js';
import { RunEval } from '../messages.js';

export default tool({
  name: 'run_eval',
  title: 'Measure the resolver',
  description:
    'Resolves every case of an approved dataset against the memory as it is now, checks each answer, and stores one completed run with its summary. ' +
    'Use it after an ingestion or review to see whether answers are as a person expects; read failures with get_intelligence. ' +
    'A passing run says that the resolver returned what was expected on those cases, not that anybody respects the answers. ' +
    'Needs a governor of the workspace.',
  toolset: 'evaluation',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  governs: true,
  input: RunInput,
  output: RunReceipt,
  run: (input, caller, bus, request) =>
    bus.commands.execute(
      new RunEval(caller, input, (done, total) => {
        request.progress(done, total, 'cases measured');
      }),
    ),
});
