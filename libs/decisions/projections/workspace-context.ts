import { workspaceView } from '#access/index.js';
import { isGovernor, type Caller } from '#kernel/context.js';
import type { Reads } from '#projections/read-database.js';
import { sourceCount } from '#sources/index.js';
import type { WorkspaceContext } from '../contract-workspace.js';
import { claimTally } from './claim-queries.js';
import { ontologyAt, openProposals } from './ontology-queries.js';
import { topicCount } from './topics.js';

/** O-10: what a caller should know before anything else. */
export function workspaceContext(reads: Reads, caller: Caller, position: number): WorkspaceContext {
  const { id, name, organisation, zone, settings } = workspaceView(reads, caller.workspace);
  const tally = claimTally(reads, caller.workspace);
  const counts = {
    topics: topicCount(reads, caller.workspace),
    ...tally,
    sources: sourceCount(reads, caller.workspace),
  };
  const { version } = ontologyAt(reads, caller.workspace);
  const ontology = {
    version,
    status: version === 0 ? 'none' : 'active',
    open_proposals: openProposals(reads, caller.workspace, version),
  };
  const can = ['read', 'ingest', ...(isGovernor(caller) ? ['review'] : [])];
  return {
    workspace: { id, name },
    organisation,
    caller: { principal: caller.principal, kind: caller.kind, role: caller.role, can },
    ontology,
    counts,
    capture_enabled: settings.answerCapture,
    zone,
    position: String(position),
    next_steps: nextSteps(counts, isGovernor(caller)),
  };
}

function nextSteps(counts: WorkspaceContext['counts'], governor: boolean): string[] {
  if (counts.sources === 0)
    return ['Nothing is recorded yet: hand in decision records with ingest.'];
  return [
    'Ask with resolve_decision_state; the name or an alias of a topic gives its decision.',
    ...(counts.open_conflicts > 0
      ? [`${counts.open_conflicts} conflicts are open: see find_conflicts.`]
      : []),
    ...(counts.candidates > 0
      ? [
          governor
            ? `${counts.candidates} candidates await your review: see list_pending_decisions.`
            : `${counts.candidates} candidates await review by a governor.`,
        ]
      : []),
  ];
}
