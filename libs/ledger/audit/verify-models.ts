import type { EventStore, Position } from '#event-store/event-store.js';
import type { Finding } from '#event-store/ledger-check.js';
import type { FollowerStatus } from '#projections/follower.js';
import type { Projection } from '#projections/projection.js';
import type { ReadDatabase, Row } from '#projections/read-database.js';
import { rebuildUpTo } from './rebuild.js';

export interface CompareModels {
  store: Pick<EventStore, 'follow'>;
  /** The last position of the log that was proved. */
  end: Position;
  /** What is checked, held at one moment; its moment is not after that of the log. */
  models: ReadDatabase;
  /** Empty and nobody else's. */
  draft: ReadDatabase;
  projections: readonly Projection[];
  onProgress: (position: Position) => void;
  signal: AbortSignal;
}

export interface ComparedModels {
  finding: Finding | undefined;
  tables: number;
  rows: number;
  /** Where the read models that were compared stood. */
  position: Position;
  /** Read models that could not be compared, and why. */
  skipped: { name: string; why: string }[];
}

interface Standing {
  projection: Projection;
  position: Position;
  recordedAt: string;
}

/** Rebuilds read models from the log up to where those at hand stand, and compares them row by row. */
export async function compareModels(compare: CompareModels): Promise<ComparedModels> {
  const { models, end, draft, store, projections, onProgress, signal } = compare;
  const { standing, skipped } = standingOf(models, projections);
  const result: ComparedModels = { finding: undefined, tables: 0, rows: 0, position: 0, skipped };
  const beyond = standing.find(({ position }) => position > end);
  if (beyond) {
    const { projection, position } = beyond;
    result.finding = {
      at: `read model ${projection.name}`,
      what: 'position',
      expected: `${end} at most, where the log ends`,
      found: String(position),
    };
    return result;
  }
  const goals = [...new Set(standing.map(({ position }) => position))].sort((a, b) => a - b);
  for (const goal of goals) {
    const statuses = await rebuildUpTo({ store, goal, db: draft, projections, onProgress, signal });
    for (const one of standing.filter(({ position }) => position === goal)) {
      result.finding ??= compareOne(one, statuses, models, draft, result);
      if (result.finding) return result;
    }
    result.position = goal;
  }
  result.finding = strangeTable(models, projections, skipped);
  return result;
}

function standingOf(
  models: ReadDatabase,
  projections: readonly Projection[],
): { standing: Standing[]; skipped: ComparedModels['skipped'] } {
  const rows = models.all('SELECT name, version, position, recorded_at FROM checkpoint');
  const standing: Standing[] = [];
  const skipped: ComparedModels['skipped'] = [];
  for (const projection of projections) {
    const { name, version } = projection;
    const row = rows.find((r) => r['name'] === name);
    if (row?.['version'] === version) standing.push({ projection, ...placeOf(row) });
    else
      skipped.push({
        name,
        why: row ? `version ${row['version']}, this program has ${version}` : 'not made yet',
      });
  }
  const known = new Set(projections.map(({ name }) => name));
  for (const { name } of rows)
    if (!known.has(name as string))
      skipped.push({ name: name as string, why: 'this program does not know it' });
  return { standing, skipped };
}

function placeOf(row: Row): Pick<Standing, 'position' | 'recordedAt'> {
  return { position: Number(row['position']), recordedAt: String(row['recorded_at']) };
}

function compareOne(
  { projection, position, recordedAt }: Standing,
  statuses: readonly FollowerStatus[],
  models: ReadDatabase,
  draft: ReadDatabase,
  result: ComparedModels,
): Finding | undefined {
  const { name, tables } = projection;
  const status = statuses.find((s) => s.name === name);
  // It could not digest an event that the one at hand did digest: that is this program's, not the ledger's.
  if (status?.parked && status.position < position) {
    result.skipped.push({ name, why: `this program parks it: ${status.parked.reason}` });
    return undefined;
  }
  const rebuilt = draft.get('SELECT recorded_at FROM checkpoint WHERE name = ?', name);
  if (position > 0 && rebuilt?.['recorded_at'] !== recordedAt)
    return {
      at: `read model ${name}`,
      what: 'recorded_at of its checkpoint',
      expected: String(rebuilt?.['recorded_at']),
      found: recordedAt,
    };
  for (const table of Object.keys(tables)) {
    const finding = compareTable(table, models, draft, result);
    if (finding) return finding;
    result.tables += 1;
  }
  return undefined;
}

function compareTable(
  table: string,
  models: ReadDatabase,
  draft: ReadDatabase,
  result: ComparedModels,
): Finding | undefined {
  const right = draft.stored(table);
  const mine = models.stored(table);
  if (mine.columns.join() !== right.columns.join())
    return {
      at: `table ${table}`,
      what: 'columns',
      expected: right.columns.join(', '),
      found: mine.columns.join(', ') || 'no such table',
    };
  const rows = mine.rows[Symbol.iterator]();
  for (const expected of right.rows) {
    const next = rows.next();
    const found = next.done ? undefined : next.value;
    if (!found || !sameRow(expected, found))
      return rowFinding(table, right.columns, expected, found);
    result.rows += 1;
  }
  const more = rows.next();
  return more.done ? undefined : rowFinding(table, right.columns, undefined, more.value);
}

function sameRow(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.every(
    (value, i) => Object.is(value, b[i]) || JSON.stringify(value) === JSON.stringify(b[i]),
  );
}

const SHOWN = 80;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** Names the row by its first columns, which are those of the key. */
function rowFinding(
  table: string,
  columns: readonly string[],
  expected: readonly unknown[] | undefined,
  found: readonly unknown[] | undefined,
): Finding {
  const row = (expected ?? found ?? []).slice(0, 3);
  const differs = columns.findIndex((_, i) => shown(expected?.[i]) !== shown(found?.[i]));
  return {
    at: `table ${table}, row ${shown(row)}`,
    what: expected && found ? (columns[differs] ?? 'row') : 'row',
    expected: expected ? shown(found ? expected[differs] : expected) : 'no such row',
    found: found ? shown(expected ? found[differs] : found) : 'no such row',
  };
}

/** A table that belongs to nobody, unless an unknown read model may own it. */
function strangeTable(
  models: ReadDatabase,
  projections: readonly Projection[],
  skipped: ComparedModels['skipped'],
): Finding | undefined {
  if (skipped.length > 0) return undefined;
  const known = new Set(['checkpoint', ...projections.flatMap((p) => Object.keys(p.tables))]);
  const strange = models
    .all(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .map((row) => String(row['name']))
    .find((name) => !known.has(name));
  return strange === undefined
    ? undefined
    : { at: `table ${strange}`, what: 'table', expected: 'no such table', found: 'a table' };
}
