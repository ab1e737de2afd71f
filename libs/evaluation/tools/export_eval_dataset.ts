import { tool } from '#mcp/tool.js';
import { DatasetExport, ExportInput } from '../contract.js';
import { ExportDataset } from '../messages.js';

export default tool({
  name: 'export_eval_dataset',
  title: 'Export an evaluation dataset',
  description:
    'An approved dataset as JSONL: questions, expectations and references, every line declared evaluation_only. ' +
    'It holds no text of a source, no rating and no answer, and is not a training dataset. ' +
    'Use it to keep a set beside your code or to prepare it in another workspace. Only for owners.',
  toolset: 'evaluation',
  audience: ['person'],
  role: 'owner',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: ExportInput,
  output: DatasetExport,
  run: (input, caller, bus) => bus.queries.execute(new ExportDataset(caller, input)),
});
