import type { Ingestion, IngestionFinding, RecordOutcome } from '#decisions/contract-ingestion.js';
import { inline, type Paint } from './output.js';
import { counted, findingText, reasonText, section } from './words.js';

/** What became of a folder. `status`: that of the job, or `dry_run`. */
export type Report = Pick<Ingestion, 'status' | 'counts' | 'records' | 'findings'> & {
  collection: string;
  records_total: number;
};

/** For a person: how many, then what was not simply stored and why, then what somebody should look at. */
export function reportLines(report: Report, paint: Paint): string[] {
  const { counts, records, findings } = report;
  const would = report.status === 'dry_run' ? 'would be ' : '';
  const number = (n: number): string => String(n).padStart(6);
  return [
    paint.bold(heading(report)),
    '',
    `${paint.green(number(counts.stored))}  ${would}stored`,
    `${number(counts.skipped)}  ${would}skipped`,
    `${counts.queued > 0 ? paint.yellow(number(counts.queued)) : number(counts.queued)}  ${would}queued for review`,
    ...byReason('Stored, with a note', records, 'stored', paint),
    ...byReason('Skipped', records, 'skipped', paint),
    ...byReason('Queued for review', records, 'queued', paint),
    ...byKind(findings, paint),
  ];
}

function heading({ status, collection, records_total }: Report): string {
  const what = `${counted(records_total, 'document')} of "${inline(collection)}"`;
  switch (status) {
    case 'completed':
      return `Ingested ${what}`;
    case 'dry_run':
      return `Dry run: ${what}, nothing was stored`;
    default:
      return `Ingestion of ${what} is ${inline(status)}; so far:`;
  }
}

function byReason(
  title: string,
  records: readonly RecordOutcome[],
  outcome: RecordOutcome['outcome'],
  paint: Paint,
): string[] {
  const told = records.filter((r) => r.outcome === outcome && r.reason !== undefined);
  const groups = Map.groupBy(told, (r) => reasonText(r.reason ?? ''));
  return section(
    paint,
    title,
    [...groups].map(([reason, members]) => [
      `  ${reason}`,
      ...members.map((r) => `    ${paint.dim(inline(r.path ?? `record ${r.index}`))}`),
    ]),
  );
}

function byKind(findings: readonly IngestionFinding[], paint: Paint): string[] {
  const groups = Map.groupBy(findings, (f) => f.kind);
  return section(
    paint,
    'Findings, for somebody to look at',
    [...groups].map(([kind, members]) => [
      `  ${findingText(kind)}`,
      ...members.flatMap((finding) => [
        `    ${paint.dim(finding.documents.map(inline).join(', '))}`,
        `      ${inline(finding.detail)}`,
      ]),
    ]),
  );
}
