import { ERASED, isHidden } from '#kernel/sealing.js';
import type { Param, Reads } from '#projections/read-database.js';
import { rowKey } from '#projections/row-key.js';
import { erasedOf } from '#sources/index.js';
import { topicOf } from '../domain/claim.js';
import { validity, type ClaimView, type Known } from '../domain/claim-view.js';
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
/** How many candidates are looked at for an answer. */
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
    const line = lineOf(workspace, topic);
    const few = fewClaims(reads, line);
    const claims = few ?? claimsThatMatter(reads, line, asOfMs, LATEST);
    const spans = claims.flatMap((claim) => validity(claim, LATEST) ?? []);
    const begins = few ? spans.map(({ startMs }) => startMs) : [nextBeginning(reads, line, asOfMs)];
    const changes = [...begins, ...spans.map(({ endMs }) => endMs)].filter((ms) => asOfMs < ms);
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

/** What the indexes of claims find a topic by, and the names that the rows must have. */
type Line = readonly [key: number, workspace: string, topic: string];

function lineOf(workspace: string, topic: string): Line {
  return [rowKey(workspace, topic), workspace, topic];
}

// The planner has no statistics: each query names its index. A limit that were bound would have it plan again each time.
const ofLine = (columns: string, index: string): string =>
  `SELECT ${columns} FROM claim INDEXED BY ${index} WHERE line = ? AND workspace = ? AND topic = ?`;
const held = (columns: string, index: string): string => `${ofLine(columns, index)} AND held = 1`;

function claimsOfLine(
  reads: Reads,
  workspace: string,
  topic: string,
  asOfMs: number,
  known: Known,
): ClaimView[] {
  const line = lineOf(workspace, topic);
  return fewClaims(reads, line) ?? claimsThatMatter(reads, line, asOfMs, known);
}

/** Most topics have so few claims that reading all costs less than finding those that matter. */
export const FEW = 8;

/** Every claim of one topic by itself, whatever became of it, in the order of proposal; undefined where there is none or more than a few. */
function fewClaims(reads: Reads, line: Line): ClaimView[] | undefined {
  const rows = reads.all(
    `SELECT body FROM claim INDEXED BY claim_line WHERE line = ?1 AND workspace = ?2 AND topic = ?3
      AND (SELECT count(*) FROM (SELECT 1 FROM claim INDEXED BY claim_line WHERE line = ?1 LIMIT ${FEW + 1})) <= ${FEW}
      ORDER BY position`,
    ...line,
  );
  return rows.length === 0
    ? undefined
    : rows.map((row) => storedClaim(reads, line[1], row['body'] as string));
}

/** When the next decision of a topic begins; `so`: a condition more, with its parameters. */
function nextBeginning(
  reads: Reads,
  line: Line,
  asOfMs: number,
  so = '',
  ...params: Param[]
): number {
  const sql = `${held('min(start_ms) AS ms', 'claim_validity')} AND end_ms > ? AND start_ms > ? ${so}`;
  return (reads.get(sql, ...line, asOfMs, asOfMs, ...params)?.['ms'] ?? Infinity) as number;
}

/**
 * Of one topic by itself: those that hold at `asOfMs` as far as known, the last ended ones, one that
 * begins later, and candidates. Index ranges only: neither the length of the topic nor that of the ledger counts.
 */
function claimsThatMatter(reads: Reads, line: Line, asOfMs: number, known: Known): ClaimView[] {
  const [, workspace] = line;
  const past = isPast(known);
  const at = past ? knownPosition(reads, workspace, known) : Number.MAX_SAFE_INTEGER;
  const found = new Map<string, ClaimView>();
  const take = (sql: string, ...params: Param[]): void => {
    for (const row of reads.all(sql, ...line, ...params)) {
      const claim = storedClaim(reads, workspace, row['body'] as string);
      found.set(claim.decision_id, claim);
    }
  };
  const [valid, approved] = [held('body', 'claim_validity'), held('body', 'claim_approved')];
  take(`${valid} AND end_ms > ? AND start_ms <= ? AND +approved_position <= ?`, asOfMs, asOfMs, at);
  const since = (start: '<=' | '>'): void => {
    for (const claim of endedSince(reads, line, at, `c.start_ms ${start} ?`, asOfMs))
      found.set(claim.decision_id, claim);
  };
  if (past) since('<=');
  if (![...found.values()].some((claim) => holds(claim, asOfMs, known))) {
    // It holds for some time, and was approved by then.
    const so = 'AND +start_ms < +end_ms AND +approved_position <= ?';
    const from = nextBeginning(reads, line, asOfMs, so, at);
    const first = held('body, min(approved_position)', 'claim_validity');
    if (from < Infinity) take(`${first} AND end_ms > ? AND start_ms = ? ${so}`, from, from, at);
    if (past) since('>');
  }
  if (past)
    take(
      `${approved} AND approved_position <= ? ORDER BY approved_position DESC LIMIT ${HISTORY_MAX + 1}`,
      at,
    );
  else take(`${valid} AND end_ms <= ? ORDER BY end_ms DESC LIMIT ${HISTORY_MAX + 1}`, asOfMs);
  // What waits now or, in the past, what had been proposed by then.
  const proposed = `${ofLine('body', 'claim_line')} AND position <= ?`;
  if (past) take(`${proposed} ORDER BY position DESC LIMIT ${LOOKED_AT}`, at);
  else
    take(
      `${ofLine('body', 'claim_candidate')} AND state = 'candidate' ORDER BY position LIMIT ${LOOKED_AT}`,
    );
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

function holds(claim: ClaimView, asOfMs: number, known: Known): boolean {
  const interval = validity(claim, known);
  return interval !== undefined && interval.startMs <= asOfMs && asOfMs < interval.endMs;
}

/** Claims that were approved by the position `at`, whose present end was recorded only later, and whose start is in bounds. */
function endedSince(
  reads: Reads,
  line: Line,
  at: number,
  start: `c.start_ms ${'<=' | '>'} ?`,
  asOfMs: number,
): ClaimView[] {
  const { upTo, after } = forksAround(at);
  const sql = (bound: string): string =>
    `SELECT c.body FROM json_each(?) f CROSS JOIN claim c ON c.fork = f.value
      WHERE c.line = ? AND c.workspace = ? AND c.topic = ? AND ${bound} AND ${start}`;
  const before = reads.all(sql('c.ended_position > ?'), JSON.stringify(upTo), ...line, at, asOfMs);
  const later = reads.all(
    sql('c.approved_position <= ?'),
    JSON.stringify(after),
    ...line,
    at,
    asOfMs,
  );
  return bodies<ClaimView>([...before, ...later]).filter(
    (c) => (c.ends.at(-1)?.position ?? 0) > at,
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

function bodies<T>(rows: ReturnType<Reads['all']>): T[] {
  return rows.map((row) => JSON.parse(row['body'] as string) as T);
}
