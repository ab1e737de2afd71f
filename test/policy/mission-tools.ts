import type { Toolset } from '#kernel/context.js';

/** What the mission says of each of its 42 tools; tools.spec.ts holds the declarations to it. */
export interface MissionTool {
  readonly name: string;
  readonly toolset: Toolset;
  /** Who may call it, in the mission's words. */
  readonly role: string;
  /** O-02, O-03, F-08; annotation and rules: whether it only reads. */
  readonly readOnly: boolean;
}

const GOVERN = 'reviewed: admin/owner; peer: member';

const of = (
  toolset: Toolset,
  tools: readonly (readonly [name: string, role: string, reads?: 'reads'])[],
): MissionTool[] =>
  tools.map(([name, role, reads]) => ({ name, toolset, role, readOnly: reads === 'reads' }));

/** In the mission's order. */
export const MISSION_TOOLS: readonly MissionTool[] = [
  ...of('decisions', [
    ['get_workspace_context', 'member', 'reads'],
    ['resolve_decision_state', 'member', 'reads'],
    ['get_decision_history', 'member', 'reads'],
    ['find_conflicts', 'member', 'reads'],
    ['ingest', 'member (write)'],
    ['get_ingestion_status', 'member', 'reads'],
    ['list_pending_decisions', 'member', 'reads'],
    ['review_decision', GOVERN],
    ['resolve_conflict', GOVERN],
    ['start_ontology', 'member (write)'],
    ['get_ontology', 'member', 'reads'],
    ['rate_answer', 'member (write)'],
    ['edit_ontology', 'approve: admin or owner'],
  ]),
  ...of('evaluation', [
    ['prepare_eval_dataset', GOVERN],
    ['review_eval_dataset', GOVERN],
    ['run_eval', GOVERN],
    ['get_intelligence', 'member', 'reads'],
    ['export_eval_dataset', 'owner', 'reads'],
  ]),
  ...of('jobs', [
    ['list_jobs', 'agent', 'reads'],
    ['get_job_requirements', 'agent', 'reads'],
    ['get_job_decision', 'agent'],
    ['check_output', 'agent'],
    ['get_pack_guide', 'person', 'reads'],
    ['list_sources', 'person', 'reads'],
    ['read_source', 'person', 'reads'],
    ['add_current_version', 'person'],
    ['check_pack', 'person', 'reads'],
    ['propose_pack', 'person'],
    ['backtest', 'person', 'reads'],
  ]),
  ...of('annotation', [
    ['mesa_decide_annotate', 'user'],
    ['mesa_decide_apply', 'user'],
    ['mesa_decide_explain', 'user', 'reads'],
    ['mesa_decide_feedback', 'user'],
    ['mesa_decide_health', 'any', 'reads'],
  ]),
  ...of('rules', [
    ['knowledge_query', 'service', 'reads'],
    ['knowledge_check', 'service'],
    ['knowledge_resolve', 'service'],
    ['knowledge_request_approval', 'service'],
    ['knowledge_get_approval_status', 'service', 'reads'],
    ['knowledge_create_rule', 'write access'],
    ['knowledge_list_rules', 'service', 'reads'],
    ['knowledge_create_override', 'write access'],
  ]),
];
