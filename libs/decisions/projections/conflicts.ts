import { wrongCursor } from '#kernel/refusal.js';
import type { Reads, Row } from '#projections/read-database.js';
import type {
  Conflict,
  ConflictClaim,
  Conflicts,
  ConflictsInput,
  ConflictStatus,
} from '../contract-conflicts.js';
import {
  evidenceOf,
  isOpen,
  seen,
  validity,
  type ClaimView,
  type ConflictView,
  type Known,
} from '../domain/claim-view.js';
import { axesOf, type Axes } from './answering.js';
import { claimById } from './claim-queries.js';
import { namesakes } from './suggestions.js';
import { homeOf, linesOf, topicsNamed } from './topics.js';
import { Sources, decisiveEnd, needed } from './views.js';

/** O-24, O-25: conflicts in the order in which they opened, with what would settle each. */
export function conflicts(
  reads: Reads,
  workspace: string,
  input: ConflictsInput,
  nowMs: number,
  position: number,
): Conflicts {
  const axes = axesOf(reads, workspace, input, nowMs);
  const frame = { candidate_topics: [], position: String(position) };
  const named =
    input.topic === undefined ? [] : topicsNamed(reads, workspace, input.topic, axes.known);
  if (input.topic !== undefined && named.length !== 1)
    return {
      ...frame,
      conflicts: [],
      filter_recognised: false,
      note:
        named.length > 1
          ? 'Several topics bear this name: no conflicts were looked for. Ask again with the id of one.'
          : 'No topic bears this name: no conflicts were looked for. Leave the filter out to see those of every topic.',
      candidate_topics: namesakes(reads, workspace, named, axes).candidate_topics,
    };
  const lines = named.flatMap(({ topic }) => linesOf(reads, workspace, topic, axes.known));
  const { found, next } = pageOf(reads, workspace, lines, input, axes);
  const sources = new Sources(reads, workspace);
  return {
    ...frame,
    conflicts: found.map((c) => conflictOf(reads, workspace, c, axes, sources)),
    filter_recognised: true,
    ...(found.length > 0 ? {} : { note: noteOn(input) }),
    ...(next === undefined ? {} : { next_cursor: next }),
  };
}

function noteOn({ status = 'open', topic, cursor, as_of }: ConflictsInput): string {
  if (cursor !== undefined) return 'The list ends before this cursor.';
  const which = status === 'all' ? 'No conflict' : `No ${status} conflict`;
  const where = topic === undefined ? 'in this workspace' : 'in this topic';
  return as_of === undefined
    ? `${which} is recorded ${where}.`
    : `${which} ${where} is between decisions that hold at the time asked.`;
}

interface Cursor {
  position: number;
  id: string;
}

/** Rows read at once where the status or the claims of each must be looked at to know whether it belongs to the page. */
const CHUNK = 200;
/** Rows looked at for one page at most; the cursor goes on from there. */
const LOOKED_AT = 2_000;

function pageOf(
  reads: Reads,
  workspace: string,
  topics: readonly string[],
  input: ConflictsInput,
  axes: Axes,
): { found: ConflictView[]; next?: string } {
  const limit = input.limit ?? 50;
  const found: ConflictView[] = [];
  let after = cursorOf(input.cursor);
  for (let looked = 0; looked < LOOKED_AT; looked += CHUNK) {
    const rows = rowsAfter(reads, workspace, topics, after, input, axes.known);
    for (const row of rows) {
      if (found.length === limit) return { found, next: `${after.position}.${after.id}` };
      after = { position: row['position'] as number, id: row['id'] as string };
      const view = JSON.parse(row['body'] as string) as ConflictView;
      if (wanted(reads, workspace, view, input, axes)) found.push(view);
    }
    if (rows.length < CHUNK) return { found };
  }
  return { found, next: `${after.position}.${after.id}` };
}

function rowsAfter(
  reads: Reads,
  workspace: string,
  topics: readonly string[],
  after: Cursor,
  { status = 'open', known_at }: ConflictsInput,
  known: Known,
): Row[] {
  // The present status decides where everything is known; else each conflict is looked at as it was then.
  const present = known_at === undefined && status !== 'all' ? status : undefined;
  const where = [
    'workspace = ?',
    ...(topics.length === 0 ? [] : [`topic IN (${topics.map(() => '?').join(', ')})`]),
    ...(present === undefined ? [] : ['status = ?']),
    '(position, id) > (?, ?)',
    'position <= ?',
  ];
  return reads.all(
    `SELECT position, id, body FROM conflict WHERE ${where.join(' AND ')} ORDER BY position, id LIMIT ${CHUNK}`,
    workspace,
    ...topics,
    ...(present === undefined ? [] : [present]),
    after.position,
    after.id,
    Math.min(known.position, Number.MAX_SAFE_INTEGER),
  );
}

function wanted(
  reads: Reads,
  workspace: string,
  view: ConflictView,
  { status = 'open', as_of }: ConflictsInput,
  { known, asOfMs }: Axes,
): boolean {
  if (!seen(view.opened, known)) return false;
  if (status !== 'all' && statusOf(view, known) !== status) return false;
  if (as_of === undefined) return true;
  const holding = view.claims
    .map((id) => claimById(reads, workspace, view.topic, id))
    .map((claim) => claim && validity(claim, known))
    .filter((span) => span && span.startMs <= asOfMs && asOfMs < span.endMs);
  return holding.length > 1;
}

function statusOf(view: ConflictView, known: Known): ConflictStatus {
  return isOpen(view, known) ? 'open' : (view.closed?.how ?? 'open');
}

function conflictOf(
  reads: Reads,
  workspace: string,
  view: ConflictView,
  { known, authority }: Axes,
  sources: Sources,
): Conflict {
  const claims = view.claims.flatMap((id) => claimById(reads, workspace, view.topic, id) ?? []);
  const topic = homeOf(reads, workspace, view.topic, known);
  const closed = view.closed && seen(view.closed, known) ? view.closed : undefined;
  return {
    conflict_id: view.conflict_id,
    topic,
    kind: view.kind,
    status: statusOf(view, known),
    opened_at: view.opened.at,
    claims: claims.map((claim) => claimOf(claim, known, sources)),
    would_be_resolved_by: closed ? [] : needed(view, claims, authority(topic)),
    ...(closed
      ? {
          closed_at: closed.at,
          closed_by: closed.by,
          reason: closed.reason,
          ...(closed.winner === undefined ? {} : { winner: closed.winner }),
        }
      : {}),
  };
}

function claimOf(claim: ClaimView, known: Known, sources: Sources): ConflictClaim {
  const { decision_id, statement, value, scope, effective_from, effective_to } = claim;
  const end = decisiveEnd(claim, known);
  return {
    decision_id,
    state: end === undefined ? 'approved' : end.kind === 'revoked' ? 'revoked' : 'superseded',
    statement,
    ...(value === undefined ? {} : { value }),
    scope,
    ...(effective_from === undefined ? {} : { effective_from }),
    ...(effective_to === undefined ? {} : { effective_to }),
    sources: sources.refs(evidenceOf(claim, known)),
  };
}

function cursorOf(cursor: string | undefined): Cursor {
  if (cursor === undefined) return { position: 0, id: '' };
  const match = /^(\d{1,15})\.(.+)$/u.exec(cursor);
  if (match) return { position: Number(match[1]), id: match[2] ?? '' };
  throw wrongCursor();
}
