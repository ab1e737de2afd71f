import type { DatasetReceipt, EvalCase } from '#evaluation/contract.js';
import type {
  CaseResult,
  CheckResult,
  DatasetReview,
  DatasetView,
  Intelligence,
  RunView,
} from '#evaluation/contract-intelligence.js';
import { inline, type Paint } from './output.js';
import { counted, field, scopeText, section, valueText, when } from './words.js';

const INNER = '    ';

export function failedChecks({ results = [] }: Pick<Intelligence, 'results'>): number {
  return results.flatMap(({ checks }) => checks).filter(({ result }) => result === 'fail').length;
}

/** Checks that passed in the earlier run and failed in the later one. */
export function regressions({ results = [] }: Pick<Intelligence, 'results'>): number {
  return results.flatMap(({ checks, before }) =>
    checks.filter(
      ({ check, result }) => result === 'fail' && earlier(before?.checks, check) === 'pass',
    ),
  ).length;
}

function earlier(checks: readonly CheckResult[] = [], name: string): string | undefined {
  return checks.find(({ check }) => check === name)?.result;
}

export function receiptLines(receipt: DatasetReceipt, paint: Paint): string[] {
  return [
    `${paint.bold(inline(receipt.dataset_id))} is ${statusText(receipt.status, paint)}`,
    field(paint, 'hash', inline(receipt.dataset_hash)),
  ];
}

export function datasetsLines(datasets: readonly DatasetView[], paint: Paint): string[] {
  if (datasets.length === 0)
    return ['There is no dataset yet: "precedent eval prepare" stores one.'];
  return [
    paint.bold(counted(datasets.length, 'dataset')),
    ...datasets.flatMap((one) => ['', ...headLines(one, paint, '  ')]),
  ];
}

export function datasetLines(
  { dataset, cases = [], runs = [] }: Omit<Intelligence, 'next_cursor'>,
  paint: Paint,
): string[] {
  if (!dataset) return [];
  return [
    ...headLines(dataset, paint, ''),
    ...section(
      paint,
      'Cases',
      cases.map((one, i) => caseLines(one, i, paint)),
    ),
    ...section(
      paint,
      'Runs',
      runs.map((run) => [
        `  ${when(run.run_at)}  ${summaryText(run, paint)}, at position ${inline(run.memory_position)}`,
        field(paint, 'id', inline(run.run_id), INNER),
      ]),
    ),
  ];
}

function headLines(one: DatasetView, paint: Paint, indent: string): string[] {
  const told = (name: string, text: string): string => field(paint, name, text, `${indent}  `);
  const act = (name: string, review: DatasetReview | undefined): string[] =>
    review
      ? [told(name, `${when(review.at)}, by ${inline(review.by)}: ${inline(review.reason)}`)]
      : [];
  return [
    `${indent}${statusText(one.status, paint)}  ${paint.bold(inline(one.name))}, ${counted(one.case_count, 'case')}`,
    ...(one.description === undefined ? [] : [told('about', inline(one.description))]),
    told('prepared', `${when(one.prepared_at)}, by ${inline(one.prepared_by)}`),
    ...act('approved', one.approved),
    ...act('retired', one.retired),
    told(
      'runs',
      one.latest_run
        ? `${one.run_count}, the latest ${when(one.latest_run.run_at)}: ${summaryText(one.latest_run, paint)}`
        : 'none',
    ),
    told('id', inline(one.dataset_id)),
    told('hash', inline(one.dataset_hash)),
  ];
}

function statusText(status: string, paint: Paint): string {
  return status === 'approved' ? paint.green(status) : paint.yellow(inline(status));
}

function summaryText({ summary }: Pick<RunView, 'summary'>, paint: Paint): string {
  const { cases, cases_passed } = summary;
  const text = `${cases_passed} of ${counted(cases, 'case')} as expected`;
  return cases_passed === cases ? paint.green(text) : paint.red(text);
}

function caseLines(one: EvalCase, i: number, paint: Paint): string[] {
  return [`  ${i + 1}. ${inline(one.question)}`, ...askedLines(one, paint)];
}

function askedLines({ topic, scope, as_of, known_at, expect }: EvalCase, paint: Paint): string[] {
  const told = (name: string, text: string | undefined): string[] =>
    text === undefined ? [] : [field(paint, name, text, INNER)];
  const { state, decision_id, value, sources = [] } = expect;
  return [
    ...told('topic', topic && inline(topic)),
    ...told('scope', scope && scopeText(scope)),
    ...told('as of', as_of && inline(as_of)),
    ...told('known at', known_at && inline(known_at)),
    ...told('expects', inline(state)),
    ...told('decision', decision_id && inline(decision_id)),
    ...told('value', value === undefined ? undefined : valueText(value)),
    ...told('in scope', expect.scope && scopeText(expect.scope)),
    ...sources.flatMap((source) => told('source', inline(source))),
  ];
}

export function runLines(read: Intelligence, paint: Paint): string[] {
  const { run, compared_to: other, results = [] } = read;
  if (!run) return [];
  const { pass, fail, not_applicable: none } = run.summary.checks;
  return [
    summaryText(run, paint),
    '',
    ...results.flatMap((one) => resultLines(one, paint)),
    '',
    field(paint, 'checks', `${pass} passed, ${fail} failed; ${none} had nothing to measure`),
    field(paint, 'run', `${inline(run.run_id)}, ${when(run.run_at)}, by ${inline(run.run_by)}`),
    ...(other ? [field(paint, 'before', `${inline(other.run_id)}, ${when(other.run_at)}`)] : []),
    field(paint, 'dataset', inline(run.dataset_id)),
    field(
      paint,
      'memory',
      `position ${inline(run.memory_position)}, ontology version ${run.ontology_version}`,
    ),
  ];
}

function resultLines(one: CaseResult, paint: Paint): string[] {
  const { asked, observed, checks, before } = one;
  const failed = checks.filter(({ result }) => result === 'fail');
  const mark = failed.length === 0 ? paint.green('pass') : paint.red('fail');
  const told = (name: string, text: string): string => field(paint, name, text, INNER);
  return [
    `  ${mark}  ${one.case + 1}. ${inline(asked.question)}`,
    ...failed.map(({ check, detail }) => told(inline(check), inline(detail ?? 'failed'))),
    ...(failed.length === 0
      ? []
      : [
          told('observed', `${inline(observed.state)}: ${inline(observed.reason)}`),
          ...(observed.decision_id === undefined
            ? []
            : [told('decision', inline(observed.decision_id))]),
        ]),
    ...(before?.differs ? changeLines(checks, before.checks, told) : []),
  ];
}

function changeLines(
  now: readonly CheckResult[],
  before: readonly CheckResult[],
  told: (name: string, text: string) => string,
): string[] {
  const changed = now
    .filter(({ check, result }) => earlier(before, check) !== result)
    .map(({ check, result }) => `${check} ${earlier(before, check) ?? ''} → ${result}`);
  return [told('changed', changed.length === 0 ? 'what was observed' : inline(changed.join(', ')))];
}
