import type { Reads } from '#projections/read-database.js';
import { openerOf, topicOf } from '../domain/claim.js';
import type { ConflictView, Known } from '../domain/claim-view.js';
import { claims as claimModel } from './claims.js';
import { linesOf } from './topics.js';

/** How many conflicts an answer shows. */
export const CONFLICTS_MAX = 50;
/** How many beside those of the decisions in force are looked at for an answer: enough to know that not all are shown. */
const LOOKED_AT = CONFLICTS_MAX + 1;

/** Conflicts that name one of these claims, and of the topic's others the open ones and the latest. */
export function conflictsFor(
  reads: Reads,
  workspace: string,
  topic: string,
  claims: readonly string[],
  known: Known,
): ConflictView[] {
  return linesOf(reads, workspace, topic, known)
    .flatMap((line) => conflictsOfLine(reads, workspace, line, claims))
    .sort((a, b) => a.opened.position - b.opened.position);
}

function conflictsOfLine(
  reads: Reads,
  workspace: string,
  topic: string,
  claims: readonly string[],
): ConflictView[] {
  if (!hasConflicts(reads, workspace)) return [];
  // Rivals share their conflicts: the ids first, then each conflict once.
  const ids = reads.all(
    `SELECT k.conflict FROM json_each(?) n
       CROSS JOIN conflict_claim k ON k.workspace = ? AND k.topic = ? AND k.claim = n.value`,
    JSON.stringify(claims),
    workspace,
    topic,
  );
  const named =
    ids.length === 0
      ? []
      : reads.all(
          `SELECT c.body FROM json_each(?) n
             CROSS JOIN conflict c ON c.workspace = ? AND c.topic = ? AND c.id = n.value`,
          JSON.stringify([...new Set(ids.map((row) => row['conflict'] as string))]),
          workspace,
          topic,
        );
  const recent = (status: string): ReturnType<Reads['all']> =>
    reads.all(
      `SELECT body FROM conflict WHERE workspace = ? AND topic = ? ${status} ORDER BY position DESC, id DESC LIMIT ${LOOKED_AT}`,
      workspace,
      topic,
    );
  const rows = [...named, ...recent(`AND status = 'open'`), ...recent('')];
  const all = rows.map((row) => JSON.parse(row['body'] as string) as ConflictView);
  return [...new Map(all.map((c) => [c.conflict_id, c])).values()];
}

/** Most workspaces never had one; then nobody looks for them. */
function hasConflicts(reads: Reads, workspace: string): boolean {
  const sql = 'SELECT 1 AS found FROM conflict WHERE workspace = ? LIMIT 1';
  return reads.memo(
    claimModel,
    `conflicts ${workspace}`,
    () => reads.get(sql, workspace) !== undefined,
  );
}

/** One conflict, open or not. It is named after the decision that opened it, which says the topic. */
export function conflictById(
  reads: Reads,
  workspace: string,
  id: string,
): ConflictView | undefined {
  const row = reads.get(
    'SELECT body FROM conflict WHERE workspace = ? AND topic = ? AND id = ?',
    workspace,
    topicOf(openerOf(id)) ?? '',
    id,
  );
  return row && (JSON.parse(row['body'] as string) as ConflictView);
}
