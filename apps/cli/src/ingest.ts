import { randomUUID } from 'node:crypto';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { DocumentInput, IngestReceipt, Ingestion } from '#decisions/contract-ingestion.js';
import { restOf, type Api } from './api.js';
import { findServer } from './connection.js';
import { EXIT, Failure } from './failure.js';
import { readFolder } from './folder.js';
import { followJob, stalled } from './ingest-job.js';
import { reportLines, type Report } from './ingest-report.js';
import { interruption } from './interruption.js';
import { outputFor, type Output, type OutputOptions } from './output.js';
import { counted } from './words.js';

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
      'Sends every *.md and *.markdown file below a folder to the ledger and tells what became of each.\n' +
        'Either the whole folder can be read and is sent, or nothing is. The same folder again stores nothing twice.',
    )
    .argument('<folder>', 'folder of decision records, like docs/adr')
    .option('--collection <name>', 'name that the folder keeps in the ledger (default: its own)')
    .option('--dry-run', 'only say what would happen')
    .option('--request-id <key>', 'idempotency key: the same key again shows the same job')
    .option('--json', 'print the result as JSON')
    .option('-q, --quiet', 'no progress and no notes')
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
  const connection = await findServer();
  const ofLinks = counted(links.length, 'symbolic link was', 'symbolic links were');
  if (links.length > 0) output.note(`${ofLinks} not followed: ${links.join(', ')}`);
  const collection = options.collection ?? basename(resolve(folder));
  const request_id = options.requestId ?? randomUUID();
  const api = restOf(connection);
  const submit = submission(api, documents, { collection, request_id });
  if (options.dryRun) {
    const receipt = await submit({ dry_run: true });
    print(output, { collection, ...dryReport(receipt) });
    return;
  }
  const receipt = await submit({});
  const job = await followJob(api, receipt, output);
  print(output, { collection, request_id, ...job });
  if (job.status !== 'completed') throw unfinished(job, `--request-id ${request_id}`);
  if (job.counts.queued > 0) output.note('\nSee what awaits a review: precedent pending');
}

/** Issues of the server name documents by number; a person knows their paths. */
function submission(
  api: Api,
  documents: DocumentInput[],
  more: { collection: string; request_id: string },
) {
  const named = (text: string): string =>
    text.replace(/documents\[(\d+)\]/g, (whole, i: string) => {
      const document = documents[Number(i)];
      return document ? `${whole} (${document.path})` : whole;
    });
  return async (mode: { dry_run?: true }): Promise<IngestReceipt> => {
    try {
      return await api.post<IngestReceipt>(['ingestions'], { documents, ...more, ...mode });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { exit, problem } = error;
      const issues = problem.issues.map((i) => ({ ...i, path: named(i.path) }));
      throw new Failure(exit, { ...problem, message: named(problem.message), issues });
    }
  };
}

function dryReport(receipt: IngestReceipt): Omit<Report, 'collection'> {
  const { status, records = [], findings = [], records_total } = receipt;
  const count = (outcome: string): number => records.filter((r) => r.outcome === outcome).length;
  const counts = { stored: count('stored'), skipped: count('skipped'), queued: count('queued') };
  return { status, counts, records_total, records, findings };
}

function print(output: Output, report: Report): void {
  if (output.readable) output.say(reportLines(report, output.paint));
  else output.json('precedent.ingestion/1', report);
}

function unfinished(job: Ingestion, again: string): Failure {
  const known = { path: job.job_id, fix: `the server goes on; run the same command again with ${again} to see how it ends` };
  if (interruption.aborted)
    return new Failure(EXIT.interrupted, {
      error: 'interrupted',
      message: `interrupted: job ${job.job_id} is ${job.status}`,
      ...known,
    });
  return new Failure(EXIT.incomplete, {
    error: 'ingestion_incomplete',
    message: `job ${job.job_id} is ${job.status}: ${stalled(job)}`,
    ...known,
  });
}
