import { ERASED, isHidden } from '#kernel/sealing.js';
import type { Param, Reads } from '#projections/read-database.js';
import { erasedOf } from '#sources/index.js';
import { openerOf, topicOf } from '../domain/claim.js';
import { validity, type ClaimView, type ConflictView, type Known } from '../domain/claim-view.js';
import { topicAt, type TopicAt } from '../domain/resolver.js';
import { claims as claimModel, type Tally } from './claims.js';
import { forksAround, knownPosition } from './knowledge.js';
import { LATEST } from './ontology-queries.js';
import { homeOf, linesOf } from './topics.js';

export function claimTally(reads: Reads, workspace: string): Record<Tally, number> {
  const row = reads.get('SELECT * FROM claim_tally WHERE workspace = ?', workspace);
  const n = (column: Tally): number => (row?.[column] ?? 0) as number;
  return {
    decisions: n('decisions'),
    heads: n('heads'),
    candidates: n('candidates'),
    open_conflicts: n('open_conflicts'),
  };
}

/** A claim from its stored body; where its words are gone, with the erasure that took them. */
export function storedClaim(reads: Reads, workspace: string, body: string): ClaimView {
  const claim = JSON.parse(body) as ClaimView;
  if (claim.statement !== ERASED) return claim;
  const erased = erasedOf(reads, workspace, 'decision', claim.decision_id);
  return erased ? { ...claim, erased } : claim;
}

/** How many ended decisions an answer brings along. */
export const HISTORY_MAX = 20;
/** How many candidates, and how many conflicts beside those of the decisions in force, are looked at for an answer. */
const LOOKED_AT = 50;

/** What can matter to a question about one topic, and about those that were merged into it as far as was known. */
export function topicAsOf(
  reads: Reads,
  workspace: string,
  topic: string,
  asOfMs: number,
  known: Known,
): TopicAt {
  const lines = linesOf(reads, workspace, topic, known);
  if (lines.length === 1 && !isPast(known)) return topicNow(reads, workspace, topic, asOfMs);
  const claims = lines.flatMap((line) => claimsOfLine(reads, workspace, line, asOfMs, known));
  for (const claim of claims) claim.topic = topic;
  return topicAt(claims, asOfMs, known);
}

function isPast(known: Known): boolean {
  return known.position < Infinity || known.ms < Infinity;
}

/** As far as is known now: the same from `fromMs` until something of the topic begins or ends. */
interface Lasting {
  topic: TopicAt;
  fromMs: number;
  untilMs: number;
  /** Words of it cannot be read: why not, and whether still, is looked at each time. */
  isHidden: boolean;
}

function topicNow(reads: Reads, workspace: string, topic: string, asOfMs: number): TopicAt {
  const lasting = (): Lasting => {
    const claims = claimsOfLine(reads, workspace, topic, asOfMs, LATEST);
    const ends = claims.map((claim) => validity(claim, LATEST)?.endMs ?? Infinity);
    const next = reads.get(
      `${held('min(start_ms) AS ms', 'claim_validity')} AND end_ms > ? AND start_ms > ?`,
      workspace,
      topic,
      asOfMs,
      asOfMs,
    );
    const changes = [(next?.['ms'] ?? Infinity) as number, ...ends].filter((ms) => asOfMs < ms);
    return {
      topic: topicAt(claims, asOfMs, LATEST),
      fromMs: asOfMs,
      untilMs: Math.min(...changes),
      isHidden: claims.some(({ statement }) => isHidden(statement)),
    };
  };
  const serves = (kept: Lasting): boolean =>
    kept.fromMs <= asOfMs && asOfMs < kept.untilMs && !kept.isHidden;
  return reads.memo(claimModel, `topic ${workspace} ${topic}`, lasting, serves).topic;
}

// The planner has no statistics: each query names its index. A limit that were bound would have it plan again each time.
const held = (columns: string, index: string): string =>
  `SELECT ${columns} FROM claim INDEXED BY ${index} WHERE workspace = ? AND topic = ? AND held = 1`;

/**
 * Of one topic by itself: those that hold at `asOfMs` as far as known, the last ended ones, one that
 * begins later, and candidates. Index ranges only: neither the length of the topic nor that of the ledger counts.
 */
function claimsOfLine(
  reads: Reads,
  workspace: string,
  topic: string,
  asOfMs: number,
  known: Known,
): ClaimView[] {
  const past = isPast(known);
  const at = past ? knownPosition(reads, workspace, known) : Number.MAX_SAFE_INTEGER;
  const found = new Map<string, ClaimView>();
  const take = (sql: string, ...params: Param[]): void => {
    for (const row of reads.all(sql, workspace, topic, ...params)) {
      const claim = storedClaim(reads, workspace, row['body'] as string);
      found.set(claim.decision_id, claim);
    }
  };
  const [valid, approved] = [held('body', 'claim_validity'), held('body', 'claim_approved')];
  take(`${valid} AND end_ms > ? AND start_ms <= ? AND +approved_position <= ?`, asOfMs, asOfMs, at);
  if (past) {
    for (const claim of endedSince(reads, workspace, topic, at, asOfMs))
      found.set(claim.decision_id, claim);
    take(
      `${approved} AND approved_position <= ? ORDER BY approved_position DESC LIMIT ${HISTORY_MAX + 1}`,
      at,
    );
  } else take(`${valid} AND end_ms <= ? ORDER BY end_ms DESC LIMIT ${HISTORY_MAX + 1}`, asOfMs);
  // What waits now or, in the past, what had been proposed by then.
  const proposed = `SELECT body FROM claim WHERE workspace = ? AND topic = ? AND position <= ?`;
  if (past) take(`${proposed} ORDER BY position DESC LIMIT ${LOOKED_AT}`, at);
  else take(`${proposed} AND state = 'candidate' ORDER BY position LIMIT ${LOOKED_AT}`, at);
  // Enough to say that some apply later, or that there were some.
  if (found.size === 0)
    take(
      `${valid} AND end_ms > ? AND start_ms > ? AND +approved_position <= ? LIMIT 1`,
      asOfMs,
      asOfMs,
      at,
    );
  if (found.size === 0) take(`${proposed} LIMIT 1`, at);
  return [...found.values()];
}

/** Claims that were approved by the position `at`, and whose present end was recorded only later. */
function endedSince(
  reads: Reads,
  workspace: string,
  topic: string,
  at: number,
  asOfMs: number,
): ClaimView[] {
  const { upTo, after } = forksAround(at);
  const sql = (bound: string): string =>
    `SELECT c.body FROM json_each(?) f CROSS JOIN claim c ON c.fork = f.value
      WHERE c.workspace = ? AND c.topic = ? AND ${bound} AND c.start_ms <= ?`;
  const before = reads.all(
    sql('c.ended_position > ?'),
    JSON.stringify(upTo),
    workspace,
    topic,
    at,
    asOfMs,
  );
  const later = reads.all(
    sql('c.approved_position <= ?'),
    JSON.stringify(after),
    workspace,
    topic,
    at,
    asOfMs,
  );
  return bodies<ClaimView>([...before, ...later]).filter(
    (c) => (c.ends.at(-1)?.position ?? 0) > at,
  );
}

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
  const named = reads.all(
    `SELECT c.body FROM json_each(?) n
       CROSS JOIN conflict_claim k ON k.workspace = ? AND k.topic = ? AND k.claim = n.value
       JOIN conflict c ON c.workspace = k.workspace AND c.topic = k.topic AND c.id = k.conflict`,
    JSON.stringify(claims),
    workspace,
    topic,
  );
  const recent = (status: string): ReturnType<Reads['all']> =>
    reads.all(
      `SELECT body FROM conflict WHERE workspace = ? AND topic = ? ${status} ORDER BY position DESC, id DESC LIMIT ${LOOKED_AT}`,
      workspace,
      topic,
    );
  const all = bodies<ConflictView>([...named, ...recent(`AND status = 'open'`), ...recent('')]);
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

/** One claim, wherever it stands; `topic` serves where its id does not say. */
export function claimById(
  reads: Reads,
  workspace: string,
  topic: string,
  id: string,
): ClaimView | undefined {
  const row = reads.get(
    'SELECT body FROM claim WHERE workspace = ? AND topic = ? AND id = ?',
    workspace,
    topicOf(id) ?? topic,
    id,
  );
  return row && storedClaim(reads, workspace, row['body'] as string);
}

const CLAIMS_PAGE = 200;

/**
 * Every claim that was in force at some time, of one topic and those merged into it or of the whole workspace, each with the topic in
 * which it stands as far as was known. A page at a time: a workspace may hold millions.
 */
export function* claimsIn(
  reads: Reads,
  workspace: string,
  topic: string | undefined,
  known: Known,
): Generator<ClaimView> {
  const lines = topic === undefined ? undefined : linesOf(reads, workspace, topic, known);
  let after: readonly [topic: string, id: string] = ['', ''];
  for (;;) {
    const rows = reads.all(
      `SELECT topic, id, body FROM claim WHERE workspace = ? AND (topic, id) > (?, ?) AND +held = 1
        ${lines === undefined ? '' : 'AND topic IN (SELECT value FROM json_each(?))'}
        ORDER BY topic, id LIMIT ${CLAIMS_PAGE}`,
      workspace,
      ...after,
      ...(lines === undefined ? [] : [JSON.stringify(lines)]),
    );
    for (const claim of bodies<ClaimView>(rows))
      yield { ...claim, topic: homeOf(reads, workspace, claim.topic, known) };
    const last = rows.at(-1);
    if (!last || rows.length < CLAIMS_PAGE) return;
    after = [last['topic'] as string, last['id'] as string];
  }
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

function bodies<T>(rows: ReturnType<Reads['all']>): T[] {
  return rows.map((row) => JSON.parse(row['body'] as string) as T);
}
