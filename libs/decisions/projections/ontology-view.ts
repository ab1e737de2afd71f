import { Refusal, wrongCursor } from '#kernel/refusal.js';
import type { Reads, Row } from '#projections/read-database.js';
import type { OntologyInput } from '../contract-ontology.js';
import type {
  Ontology,
  OntologyContentView,
  OntologyProposal,
  OntologyVersion,
} from '../contract-ontology-view.js';
import { differences, type Difference } from '../domain/ontology-diff.js';
import { ONTOLOGY_LIMITS } from '../domain/ontology-step.js';
import { leadsTo } from '../domain/ontology-state.js';
import type { OntologyContent } from '../domain/ontology.events.js';
import type { Known } from '../domain/claim-view.js';
import { contentIn, type ProposalBody, type VersionBody } from './ontology.js';
import { limitsOf, ontologyAt } from './ontology-queries.js';

/** Differences shown of one step; how many there are is said beside them. */
const DIFF_MAX = 100;
/** Proposals that were decided or are outdated, the latest ones. */
const OTHERS_SHOWN = 20;

export function shown(diff: readonly Difference[]): { diff: Difference[]; diff_total: number } {
  return { diff: diff.slice(0, DIFF_MAX), diff_total: diff.length };
}

/** O-35: the active ontology, its versions and the proposals for it, as far as was known. */
export function ontologyOverview(
  reads: Reads,
  workspace: string,
  input: OntologyInput,
  known: Known,
  position: number,
): Ontology {
  const active = ontologyAt(reads, workspace, known);
  const { versions, next } = versionsPage(reads, workspace, input, known);
  return {
    active: contentView(active.version, active.content),
    ...(input.version === undefined
      ? {}
      : { requested: requested(reads, workspace, input.version, active.version) }),
    versions,
    proposals: proposals(reads, workspace, known, active.version),
    position: String(position),
    ...(next === undefined ? {} : { next_cursor: String(next) }),
  };
}

function requested(
  reads: Reads,
  workspace: string,
  version: number,
  active: number,
): OntologyContentView {
  if (version <= active) return contentView(version, contentIn(reads, workspace, version));
  throw new Refusal('not_found', 'unknown_version', `there is no version ${version}`, {
    path: 'version',
    issues: [{ path: 'version', problem: `${active} is the latest` }],
    fix: 'take a version that get_ontology lists',
  });
}

function contentView(version: number, content: OntologyContent): OntologyContentView {
  return { version, ...content };
}

function versionsPage(
  reads: Reads,
  workspace: string,
  input: OntologyInput,
  known: Known,
): { versions: OntologyVersion[]; next?: number } {
  const limit = input.limit ?? 20;
  const rows = reads.all(
    `SELECT version, position, recorded_at, body FROM ontology_version
      WHERE workspace = ? AND version < ? AND position <= ? AND recorded_ms <= ? ORDER BY version DESC LIMIT ?`,
    workspace,
    cursorOf(input.cursor),
    ...limitsOf(known),
    limit + 1,
  );
  const versions = rows.slice(0, limit).map(versionOf);
  const last = versions.at(-1)?.version;
  return { versions, ...(rows.length > limit && last !== undefined ? { next: last } : {}) };
}

function cursorOf(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw wrongCursor();
}

function versionOf(row: Row): OntologyVersion {
  const { diff, ...body } = JSON.parse(row['body'] as string) as VersionBody;
  return {
    version: row['version'] as number,
    ...body,
    approved_at: row['recorded_at'] as string,
    position: String(row['position']),
    ...shown(diff),
  };
}

function proposals(
  reads: Reads,
  workspace: string,
  known: Known,
  active: number,
): OntologyProposal[] {
  const [position, ms] = limitsOf(known);
  const rows = (which: string, limit: number): Row[] =>
    reads.all(
      `SELECT * FROM (SELECT *, (status <> 'open' AND closed_position <= ?2 AND closed_ms <= ?3) AS closed
          FROM ontology_proposal WHERE workspace = ?1 AND position <= ?2 AND recorded_ms <= ?3)
        WHERE ${which} ORDER BY position DESC LIMIT ?5`,
      workspace,
      position,
      ms,
      active,
      limit,
    );
  return [
    ...rows('NOT closed AND base_version = ?4', ONTOLOGY_LIMITS.openProposals),
    ...rows('closed OR base_version <> ?4', OTHERS_SHOWN),
  ].map((row) => proposalOf(reads, workspace, row, active));
}

function proposalOf(reads: Reads, workspace: string, row: Row, active: number): OntologyProposal {
  const { leads, ...body } = JSON.parse(row['body'] as string) as ProposalBody;
  const base = contentIn(reads, workspace, body.base_version);
  const closed = row['closed'] === 1;
  const reason = row['closed_reason'] as string | null;
  return {
    ...body,
    status: closed ? (row['status'] as string) : body.base_version === active ? 'open' : 'outdated',
    ...(closed
      ? {
          decided_by: row['closed_by'] as string,
          decided_at: row['closed_at'] as string,
          ...(reason === null ? {} : { decision_reason: reason }),
        }
      : {}),
    ...shown(differences(base, leadsTo({ leads }, base))),
  };
}
