import { isoMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import type { DecisionView } from '../contract.js';
import { topicOf } from '../domain/claim.js';
import { validity, type ClaimView, type Known } from '../domain/claim-view.js';
import { claimById } from './claim-queries.js';
import { claims } from './claims.js';
import { decisionView, decisiveEnd, type NameOf } from './views.js';

type RelationView = NonNullable<DecisionView['relations']>[number];

const FROM_THE_OTHER_SIDE = {
  amends: 'amended_by',
  partially_supersedes: 'partially_superseded_by',
} as const;

/** Relations of one decision that are shown at most, those that it states itself first. */
const SHOWN = 20;

interface Asked {
  asOfMs: number;
  known: Known;
  nameOf: NameOf;
}

/**
 * Shows decisions as an answer does: where one has run out by then, until when it held; and what it amends or replaces in part, and
 * what does so to it (QO-23), which retires nothing.
 */
export function showing(
  reads: Reads,
  workspace: string,
  axes: Asked,
): (claim: ClaimView) => DecisionView {
  const areRelated = hasRelations(reads, workspace);
  return (claim) => {
    const view = decisionView(claim, axes.known, axes.nameOf);
    const ranOut = view.ended_at === undefined ? endBy(claim, axes) : {};
    const relations = areRelated ? relationsOf(reads, workspace, claim, axes) : [];
    if (ranOut.ended_at === undefined && relations.length === 0) return view;
    return { ...view, ...ranOut, ...(relations.length === 0 ? {} : { relations }) };
  };
}

function endBy(claim: ClaimView, { asOfMs, known }: Asked): Pick<DecisionView, 'ended_at'> {
  const endMs = validity(claim, known)?.endMs ?? Infinity;
  return endMs <= asOfMs ? { ended_at: isoMs(endMs) } : {};
}

/** What a reader of the answer must not miss; empty where nothing bears on the decision. */
export function relationsTold({ relations = [] }: DecisionView): string {
  const by = (kind: RelationView['kind']): string =>
    relations.flatMap((r) => (r.kind === kind ? [r.decision_id] : [])).join(', ');
  const [inPart, amended] = [by('partially_superseded_by'), by('amended_by')];
  return `${inPart && ` It is replaced in part by ${inPart}.`}${amended && ` It is amended by ${amended}.`}`;
}

function relationsOf(
  reads: Reads,
  workspace: string,
  claim: ClaimView,
  axes: Asked,
): RelationView[] {
  const own = claim.relations.map(({ kind, decision_id }) => ({ kind, decision_id }));
  return [...own, ...statedOf(reads, workspace, claim, axes)].slice(0, SHOWN);
}

/** By decisions that were approved as far as was known, ever held and were not revoked. */
function statedOf(
  reads: Reads,
  workspace: string,
  { decision_id, topic }: ClaimView,
  { known }: Asked,
): RelationView[] {
  const rows = reads.all(
    `SELECT by, kind FROM claim_relation WHERE workspace = ? AND claim = ? ORDER BY by LIMIT ${SHOWN}`,
    workspace,
    decision_id,
  );
  return rows.flatMap((row) => {
    const by = row['by'] as string;
    const claim = claimById(reads, workspace, topicOf(by) ?? topic, by);
    const held = claim && validity(claim, known);
    if (!held || held.startMs >= held.endMs || decisiveEnd(claim, known)?.kind === 'revoked')
      return [];
    const kind = FROM_THE_OTHER_SIDE[row['kind'] as keyof typeof FROM_THE_OTHER_SIDE];
    return [{ kind, decision_id: by }];
  });
}

/** Most workspaces never had one; then nobody looks for them. */
function hasRelations(reads: Reads, workspace: string): boolean {
  const sql = 'SELECT 1 AS found FROM claim_relation WHERE workspace = ? LIMIT 1';
  return reads.memo(
    claims,
    `relations ${workspace}`,
    () => reads.get(sql, workspace) !== undefined,
  );
}
