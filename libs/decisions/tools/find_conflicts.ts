import { tool } from '#mcp/tool.js';
import { Conflicts, ConflictsInput } from '../contract-conflicts.js';
import { FindConflicts } from '../messages.js';

export default tool({
  name: 'find_conflicts',
  title: 'Conflicts',
  description:
    'Approved decisions that cannot both hold, each with its sources and scope, and what evidence or act would settle them. ' +
    'Use it when an answer is contested, or before resolve_conflict. An unrecognised topic filter is said to be so. ' +
    'Never pick a side yourself: a governor does.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: ConflictsInput,
  output: Conflicts,
  run: (input, caller, bus) => bus.queries.execute(new FindConflicts(caller, input)),
});
