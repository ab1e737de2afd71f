import { invalid, wrongCursor } from '#kernel/refusal.js';
import { BEGINNING, FOREVER, isoMs, timeWindow, whenMs, type TimeWindow } from '#kernel/time.js';
import { projection, when } from '#projections/projection.js';
import type { Reads, Row } from '#projections/read-database.js';
import { rowKey } from '#projections/row-key.js';
import type { HistoryInput } from '../contract.js';
import type { DecidedWindow } from '../contract-decided.js';
import type { Decisions, DecisionsInput } from '../contract-decisions.js';
import { topicOf } from '../domain/claim.js';
import { decidedMs, validity, type ClaimView } from '../domain/claim-view.js';
import { topicCodec } from '../domain/topic.events.js';
import { axesOf, oneTopic, type Axes } from './answering.js';
import { claimById } from './claim-queries.js';
import { homeOf, linesOf, topicsNamed } from './topics.js';
import { showing } from './relations.js';

/**
 * Approved decisions by the time at which they were decided. `at_ms` reads a date in UTC, since the workspace's zone is not known here:
 * whoever looks for a window takes a day more on both sides and looks again at what he finds.
 * `line`: the row key of workspace and topic.
 */
export const decided = projection(
  'decided',
  2,
  {
    decided: `CREATE TABLE decided (
      workspace TEXT NOT NULL, at_ms INTEGER NOT NULL, id TEXT NOT NULL, line INTEGER NOT NULL,
      PRIMARY KEY (workspace, at_ms, id)) WITHOUT ROWID;
      CREATE INDEX decided_line ON decided (line, at_ms, id)`,
    decided_candidate: `CREATE TABLE decided_candidate (
      workspace TEXT NOT NULL, id TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (workspace, id)) WITHOUT ROWID`,
  },
  when(topicCodec, {
    DecisionProposed(tables, { decision_id: id, decided_at: at }, meta) {
      if (at === undefined) return;
      const row = [meta.workspace, id, whenMs(at, 'utc')];
      tables.run('INSERT OR REPLACE INTO decided_candidate VALUES (?, ?, ?)', ...row);
    },
    DecisionApproved(tables, { decision_id: id }, meta) {
      const where = 'FROM decided_candidate WHERE workspace = ? AND id = ?';
      const known = tables.get(`SELECT at_ms ${where}`, meta.workspace, id);
      if (known) tables.run(`DELETE ${where}`, meta.workspace, id);
      const at = (known?.['at_ms'] ?? meta.recordedMs) as number;
      const line = rowKey(meta.workspace, topicOf(id) ?? '');
      tables.run('INSERT OR IGNORE INTO decided VALUES (?, ?, ?, ?)', meta.workspace, at, id, line);
    },
  }),
);

const DAY_MS = 86_400_000;
/** Rows read at once, and looked at for one page at most; the cursor goes on from there. */
const CHUNK = 200;
const LOOKED_AT = 2_000;

/** What `decided_since` and `decided_until` mean in the workspace's zone; refused where nothing can lie in between. */
export function windowOf(
  { decided_since, decided_until }: Pick<HistoryInput, 'decided_since' | 'decided_until'>,
  { zone }: Axes,
  nowMs: number,
): TimeWindow {
  const window = timeWindow(decided_since, decided_until, zone, nowMs);
  if (window.startMs < window.endMs) return window;
  throw invalid(
    'decided_until',
    'is not after decided_since, so nothing can be found',
    'give a later time; decided_until itself is not included',
  );
}

/** As answers show it. */
export function windowView({ startMs, endMs }: TimeWindow): DecidedWindow {
  return {
    ...(startMs === BEGINNING ? {} : { since: isoMs(startMs) }),
    ...(endMs === FOREVER ? {} : { until: isoMs(endMs) }),
  };
}

export function isDecidedIn(claim: ClaimView, window: TimeWindow, axes: Axes): boolean {
  const at = decidedMs(claim, axes.known, axes.zone);
  return at !== undefined && window.startMs <= at && at < window.endMs;
}

/** Decisions of a workspace or a topic that were made in a window, latest first. */
export function decisionsMade(
  reads: Reads,
  workspace: string,
  input: DecisionsInput,
  nowMs: number,
  position: number,
): Decisions {
  const axes = axesOf(reads, workspace, input, nowMs);
  const window = windowOf(input, axes, nowMs);
  const { topic: name, limit = 50 } = input;
  const lines =
    name === undefined
      ? undefined
      : linesOf(
          reads,
          workspace,
          oneTopic(topicsNamed(reads, workspace, name, axes.known), name).topic,
          axes.known,
        );
  const found: ClaimView[] = [];
  const done = (next?: Place): Decisions => ({
    decisions: found
      .map((claim) => ({
        ...claim,
        topic: homeOf(reads, workspace, claim.topic, axes.known),
      }))
      .map(showing(reads, workspace, axes)),
    decided: windowView(window),
    zone: axes.zone,
    position: String(position),
    ...(next === undefined ? {} : { next_cursor: `${next.at}.${next.id}` }),
  });
  let before = placeOf(input.cursor, window);
  for (let looked = 0; looked < LOOKED_AT; looked += CHUNK) {
    const rows = rowsBefore(reads, workspace, lines, before, window);
    for (const row of rows) {
      if (found.length === limit) return done(before);
      before = { at: row['at_ms'] as number, id: row['id'] as string };
      const line = topicOf(before.id) ?? '';
      const claim =
        lines === undefined || lines.includes(line)
          ? claimById(reads, workspace, line, before.id)
          : undefined;
      if (claim && isWanted(claim, input, window, axes)) found.push(claim);
    }
    if (rows.length < CHUNK) return done();
  }
  return done(before);
}

function isWanted(
  claim: ClaimView,
  { include_ended = false }: DecisionsInput,
  window: TimeWindow,
  axes: Axes,
): boolean {
  const interval = validity(claim, axes.known);
  if (!interval || !isDecidedIn(claim, window, axes)) return false;
  return include_ended || Math.max(interval.startMs, axes.asOfMs) < interval.endMs;
}

/** Of the last decision looked at. */
interface Place {
  at: number;
  id: string;
}

function placeOf(cursor: string | undefined, { endMs }: TimeWindow): Place {
  if (cursor === undefined) return { at: Math.min(FOREVER, endMs + DAY_MS), id: '' };
  const match = /^(-?\d{1,16})\.(.+)$/u.exec(cursor);
  if (match) return { at: Number(match[1]), id: match[2] ?? '' };
  throw wrongCursor();
}

/** Of the workspace, or of a topic and those merged into it: then a range of each, so that others do not count. */
function rowsBefore(
  reads: Reads,
  workspace: string,
  lines: readonly string[] | undefined,
  { at, id }: Place,
  { startMs }: TimeWindow,
): Row[] {
  const read = (index: string, of: string, ...line: number[]): Row[] =>
    reads.all(
      `SELECT at_ms, id FROM decided ${index} WHERE workspace = ? ${of} AND at_ms >= ? AND (at_ms, id) < (?, ?)
        ORDER BY at_ms DESC, id DESC LIMIT ${CHUNK}`,
      workspace,
      ...line,
      Math.max(BEGINNING, startMs - DAY_MS),
      at,
      id,
    );
  if (lines === undefined) return read('', '');
  const [first = [], ...others] = lines.map((line) =>
    read('INDEXED BY decided_line', 'AND line = ?', rowKey(workspace, line)),
  );
  if (others.length === 0) return first;
  return [first, ...others].flat().sort(laterFirst).slice(0, CHUNK);
}

function laterFirst(a: Row, b: Row): number {
  const later = (b['at_ms'] as number) - (a['at_ms'] as number);
  return later === 0 ? (String(a['id']) < String(b['id']) ? 1 : -1) : later;
}
