import { tool } from '#mcp/tool.js';
import { WorkspaceContext, WorkspaceContextInput } from '../contract-workspace.js';
import { GetWorkspaceContext } from '../messages.js';

export default tool({
  name: 'get_workspace_context',
  title: 'Workspace context',
  description:
    'Workspace and ontology status, what this credential may do, and how much is recorded and awaits review. ' +
    'Call it first in a session. It answers no question about a decision: use resolve_decision_state for that.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: WorkspaceContextInput,
  output: WorkspaceContext,
  run: (input, caller, bus) => bus.queries.execute(new GetWorkspaceContext(caller, input)),
});
