import { randomUUID } from 'node:crypto';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { IngestInput, IngestReceipt, Ingestion } from '#decisions/contract-ingestion.js';
import { restOf, type Api } from './api.js';
import { findServer } from './connection.js';
import { EXIT, Failure } from './failure.js';
import { readFolder } from './folder.js';
import { followJob } from './ingest-job.js';
import { reportLines, type Report } from './ingest-report.js';
import { interruption } from './interruption.js';
import { endWith, inline, outputFor, type Output, type OutputOptions } from './output.js';

interface Options extends OutputOptions {
  collection?: string;
  dryRun?: boolean;
  requestId?: string;
}

export function ingestVerb(program: Command): void {
  program
    .command('ingest')
    .summary('capture a folder of decision records')
    .description(
      'Sends every *.md and *.markdown file below a folder to the ledger and tells what became of each. ' +
        'Either the whole folder can be read and is sent, or nothing is. The same folder again stores nothing twice.',
    )
    .argument('<folder>', 'folder of decision records, like docs/adr')
    .option('--collection <name>', 'name that the folder keeps in the ledger (default: its own)')
    .option('--dry-run', 'only say what would happen')
    .option('--request-id <key>', 'idempotency key: the same key again shows the same job')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent ingest docs/adr --dry-run\n  precedent ingest docs/adr --collection backend\n' +
        '  precedent ingest docs/adr --json | jq .findings\n' +
        '\nExit code: 0 the job is completed (also with queued records and findings), 4 its end is not known here.\n',
    )
    .action(ingest);
}

async function ingest(folder: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const { INGEST_LIMITS } = await import('#decisions/contract-ingestion.js');
  const { documents, links } = await readFolder(folder, INGEST_LIMITS);
  const api = restOf(await findServer());
  if (links.length > 0)
    output.note(`symbolic links are not followed: ${links.map(inline).join(', ')}`);
  const collection = options.collection ?? basename(resolve(folder));
  const request_id = options.requestId ?? randomUUID();
  const submission = { documents, collection, request_id };
  if (options.dryRun) {
    const receipt = await submit(api, { ...submission, dry_run: true });
    print(output, { collection, ...dryReport(receipt) });
    return;
  }
  const receipt = await submit(api, submission);
  const { job, why } = await watched(output, (onProgress) => followJob(api, receipt, onProgress));
  print(output, { collection, request_id, ...job });
  if (why === undefined) suggestNext(output, job);
  else endWith(unfinished(job, why, request_id));
}

function suggestNext(output: Output, { counts, records }: Ingestion): void {
  const topic = records.find((r) => r.outcome === 'stored')?.topic;
  if (topic !== undefined) output.note(`\nWhat is decided?       precedent ask ${inline(topic)}`);
  if (counts.queued > 0)
    output.note(`${topic === undefined ? '\n' : ''}What awaits a review?  precedent pending`);
}

async function watched<T>(
  output: Output,
  work: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  if (!output.watched) return work(() => undefined);
  const { progressBar } = await import('./progress.js');
  const bar = progressBar();
  try {
    return await work((done, total) => bar.update(done, total));
  } finally {
    bar.stop();
  }
}

/** Issues of the server name documents by number; a person knows their paths. */
async function submit(api: Api, input: IngestInput): Promise<IngestReceipt> {
  const named = (text: string): string =>
    text.replace(/documents\[(\d+)\]/g, (number: string, i: string) => {
      const document = input.documents?.[Number(i)];
      return document ? `${number} (${document.path})` : number;
    });
  try {
    return await api.post<IngestReceipt>(['ingestions'], input);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { exit, problem } = error;
    const issues = problem.issues.map((issue) => ({ ...issue, path: named(issue.path) }));
    const path = problem.path === undefined ? {} : { path: named(problem.path) };
    throw new Failure(exit, { ...problem, ...path, message: named(problem.message), issues });
  }
}

function dryReport(receipt: IngestReceipt): Omit<Report, 'collection'> {
  const { status, records = [], findings = [], records_total } = receipt;
  const count = (outcome: string): number => records.filter((r) => r.outcome === outcome).length;
  const counts = { stored: count('stored'), skipped: count('skipped'), queued: count('queued') };
  return { status, counts, records_total, records, findings };
}

function print(output: Output, report: Report & { request_id?: string }): void {
  if (output.readable) output.say(reportLines(report, output.paint));
  else output.json('precedent.ingestion/1', report);
}

function unfinished({ job_id, status }: Ingestion, why: string, request_id: string): Failure {
  const exit = interruption.aborted ? EXIT.interrupted : EXIT.incomplete;
  return new Failure(exit, {
    error: interruption.aborted ? 'interrupted' : 'ingestion_incomplete',
    message: `the end of ${job_id} is not known here, it was ${status}: ${why}`,
    path: job_id,
    fix: `the server finishes it, also after a restart; the same command with --request-id ${request_id} shows how it ends`,
  });
}
