import { Refusal, wrongCursor } from '#kernel/refusal.js';
import { canonicalJson } from '#kernel/json.js';
import type { Reads, Row } from '#projections/read-database.js';
import type { EvalCase } from '../contract.js';
import type {
  CaseResult,
  DatasetInput,
  DatasetReview,
  DatasetsInput,
  DatasetView,
  Intelligence,
  RunView,
  RunViewInput,
} from '../contract-intelligence.js';
import type { Measured } from '../domain/evalrun.events.js';
import { unknownDataset, unknownRun } from '../domain/refusals.js';

type Page = Omit<Intelligence, 'position'>;

const PAGE = 50;

/** Of a dataset without its cases, which may be long. */
const HEAD = `id, position, status, hash, name, description, prepared_by, prepared_at, approved, retired,
  json_array_length(cases) AS case_count`;

/** Latest first; a cursor is the position of the last one shown. */
export function datasetsPage(reads: Reads, workspace: string, input: DatasetsInput): Page {
  const limit = input.limit ?? PAGE;
  const rows = reads.all(
    `SELECT ${HEAD} FROM eval_dataset WHERE workspace = ? AND position < ? ORDER BY position DESC LIMIT ?`,
    workspace,
    before(input.cursor),
    limit + 1,
  );
  return {
    datasets: rows.slice(0, limit).map((row) => datasetView(reads, workspace, row)),
    ...nextAfter(rows, limit),
  };
}

/** One dataset with its cases, and its runs, latest first. */
export function datasetPage(reads: Reads, workspace: string, input: DatasetInput): Page {
  const row = datasetRow(reads, workspace, input.dataset_id);
  if (!row) throw unknownDataset();
  const limit = input.limit ?? PAGE;
  const runs = reads.all(
    `SELECT position, head FROM eval_run WHERE workspace = ? AND dataset = ? AND position < ?
      ORDER BY position DESC LIMIT ?`,
    workspace,
    input.dataset_id,
    before(input.cursor),
    limit + 1,
  );
  return {
    dataset: datasetView(reads, workspace, row),
    cases: casesOf(row),
    runs: runs.slice(0, limit).map(runView),
    ...nextAfter(runs, limit),
  };
}

/** One run with its cases; a cursor is the number of the first case to show. */
export function runPage(
  reads: Reads,
  workspace: string,
  input: RunViewInput & { dataset_id?: string },
): Page {
  const row = runRow(reads, workspace, input.run_id);
  if (!row || (input.dataset_id ?? row['dataset']) !== row['dataset']) throw unknownRun('run_id');
  const dataset = datasetRow(reads, workspace, row['dataset'] as string);
  if (!dataset) throw new Error('a run has no dataset');
  const compared =
    input.compare_to === undefined
      ? undefined
      : comparable(reads, workspace, row, input.compare_to);
  const asked = casesOf(dataset);
  const earlier = compared && measuredOf(compared);
  const results = measuredOf(row).map((measured, i) =>
    caseResult(i, asked[i], measured, earlier?.[i]),
  );
  const from = fromCase(input.cursor);
  const until = from + (input.limit ?? PAGE);
  return {
    run: runView(row),
    ...(compared ? { compared_to: runView(compared) } : {}),
    results: results.slice(from, until),
    ...(until < results.length ? { next_cursor: String(until) } : {}),
  };
}

/** Another run of the same dataset. */
function comparable(reads: Reads, workspace: string, run: Row, other: string): Row {
  const row = runRow(reads, workspace, other);
  if (!row) throw unknownRun('compare_to');
  if (row['dataset'] === run['dataset']) return row;
  throw new Refusal('conflict', 'different_datasets', 'the two runs are of different datasets', {
    path: 'compare_to',
    issues: [{ path: 'compare_to', problem: 'is a run of another dataset' }],
    fix: 'get_intelligence with a dataset_id lists the runs that can be compared',
  });
}

function caseResult(
  i: number,
  asked: EvalCase | undefined,
  { observed, checks }: Measured,
  earlier: Measured | undefined,
): CaseResult {
  if (!asked) throw new Error('a run has more cases than its dataset');
  const told = (one: Measured): string => {
    const { as_of: _asOf, ...rest } = one.observed;
    return canonicalJson([rest, one.checks]);
  };
  return {
    case: i,
    asked,
    observed: observed as CaseResult['observed'],
    checks,
    ...(earlier === undefined
      ? {}
      : {
          before: {
            observed: earlier.observed as CaseResult['observed'],
            checks: earlier.checks,
            differs: told(earlier) !== told({ observed, checks }),
          },
        }),
  };
}

function datasetRow(reads: Reads, workspace: string, id: string): Row | undefined {
  return reads.get(
    `SELECT ${HEAD}, cases FROM eval_dataset WHERE workspace = ? AND id = ?`,
    workspace,
    id,
  );
}

function runRow(reads: Reads, workspace: string, id: string): Row | undefined {
  return reads.get('SELECT * FROM eval_run WHERE workspace = ? AND id = ?', workspace, id);
}

function casesOf(dataset: Row): EvalCase[] {
  return JSON.parse(dataset['cases'] as string) as EvalCase[];
}

function measuredOf(run: Row): Measured[] {
  return JSON.parse(run['cases'] as string) as Measured[];
}

function runView(run: Row): RunView {
  return JSON.parse(run['head'] as string) as RunView;
}

function datasetView(reads: Reads, workspace: string, row: Row): DatasetView {
  const id = row['id'] as string;
  const runs = reads.get(
    'SELECT count(*) AS n FROM eval_run WHERE workspace = ? AND dataset = ?',
    workspace,
    id,
  );
  const latest = reads.get(
    'SELECT head FROM eval_run WHERE workspace = ? AND dataset = ? ORDER BY position DESC LIMIT 1',
    workspace,
    id,
  );
  return {
    dataset_id: id,
    dataset_hash: row['hash'] as string,
    name: row['name'] as string,
    ...(row['description'] === null ? {} : { description: row['description'] as string }),
    status: row['status'] as DatasetView['status'],
    case_count: row['case_count'] as number,
    prepared_by: row['prepared_by'] as string,
    prepared_at: row['prepared_at'] as string,
    ...reviewOf(row, 'approved'),
    ...reviewOf(row, 'retired'),
    run_count: (runs?.['n'] ?? 0) as number,
    ...(latest ? { latest_run: runView(latest) } : {}),
  };
}

function reviewOf(row: Row, status: 'approved' | 'retired'): Record<string, DatasetReview> {
  const body = row[status];
  return typeof body === 'string' ? { [status]: JSON.parse(body) as DatasetReview } : {};
}

function nextAfter(rows: readonly Row[], limit: number): { next_cursor?: string } {
  const last = rows[limit - 1];
  return rows.length > limit && last ? { next_cursor: String(last['position']) } : {};
}

function before(cursor: string | undefined): number {
  return cursor === undefined ? Number.MAX_SAFE_INTEGER : numberIn(cursor);
}

function fromCase(cursor: string | undefined): number {
  return cursor === undefined ? 0 : numberIn(cursor);
}

function numberIn(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw wrongCursor();
}
