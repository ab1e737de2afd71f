import { Argument, type Command } from 'commander';
import type { DatasetExport, DatasetReceipt, RunReceipt } from '#evaluation/contract.js';
import type { Intelligence } from '#evaluation/contract-intelligence.js';
import { restOf, type Api } from './api.js';
import { callTool } from './ask.js';
import { carryOut } from './carry-out.js';
import { findServer } from './connection.js';
import {
  datasetLines,
  datasetsLines,
  failedChecks,
  receiptLines,
  regressions,
  runLines,
} from './eval-report.js';
import { EXIT, Failure, unusable } from './failure.js';
import { filled } from './options.js';
import { endWith, inline, outputFor, type Output, type OutputOptions } from './output.js';
import { allPages } from './pages.js';
import { badInput, jsonInput, readInput } from './written-input.js';

const DATASET = /^dataset_[0-9a-f]{20}$/;
const RUN = /^run_[0-9a-f]{32}$/;
const FILE = 'JSON with name and cases, or - for standard input';

export function evalVerb(program: Command): void {
  const verb = program
    .command('eval')
    .helpCommand(false)
    .summary('measure whether questions are answered as a person expects')
    .description(
      'Questions with the answers that a person expects: prepare, read, approve, run. ' +
        'A passing run says that the resolver returned what was expected on those cases, and no more.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent eval prepare cases.json\n  precedent eval show dataset_0123456789abcdef0123\n' +
        '  precedent eval review dataset_0123456789abcdef0123 approve --hash 5f1c… --reason "read"\n' +
        '  precedent eval run cases.json                   in CI: the dataset with this content, once it is approved\n' +
        '  precedent eval compare <earlier-run> <later-run>\n' +
        '\nExit code: 1 when a check failed, or got worse between the two runs compared.\n',
    );
  verb
    .command('prepare')
    .description('Stores a draft. The same content again is the same dataset.')
    .argument('<file>', FILE, filled)
    .action(prepare);
  verb
    .command('review')
    .description('Approves the dataset that you read, or retires it.')
    .argument('<dataset>', 'its id', filled)
    .addArgument(new Argument('<action>', 'what to do').choices(['approve', 'retire']))
    .requiredOption(
      '--hash <hash>',
      'of the dataset that you read, as "eval show" prints it',
      filled,
    )
    .requiredOption('--reason <text>', 'why', filled)
    .action(review);
  verb
    .command('run')
    .description('Asks every question of an approved dataset and checks the answers.')
    .argument('<dataset>', `its id, or the file that it was prepared from: ${FILE}`, filled)
    .option(
      '--approve <reason>',
      'a file: approve it first, because you have read its cases',
      filled,
    )
    .action(run);
  verb
    .command('show', { isDefault: true })
    .description('All datasets, or one dataset, or one run case by case.')
    .argument('[id]', 'of a dataset or a run', filled)
    .action(show);
  verb
    .command('compare')
    .description('Two runs of one dataset, case by case.')
    .argument('<earlier>', 'id of a run', filled)
    .argument('<later>', 'id of a run', filled)
    .action(compare);
  verb
    .command('export')
    .description('An approved dataset as JSON lines, for evaluation only. Needs an owner.')
    .argument('<dataset>', 'its id', filled)
    .action(exportDataset);
}

const CONTENT_FIX = 'give a file of JSON with a name and cases: see docs/guide/evaluation.md';

async function contentOf(file: string): Promise<object> {
  const problem = 'is no dataset in JSON';
  const content = jsonInput(file, await readInput(file, CONTENT_FIX), problem, CONTENT_FIX);
  if (typeof content === 'object' && content !== null) return content;
  throw badInput('invalid_json', file, problem, 'it holds no object', CONTENT_FIX);
}

async function prepared(api: Api, file: string): Promise<DatasetReceipt> {
  return api.post<DatasetReceipt>(['evaluation', 'datasets'], await contentOf(file));
}

async function reviewed(
  api: Api,
  dataset: string,
  review: { action: string; dataset_hash: string; reason: string },
): Promise<DatasetReceipt> {
  return api.post<DatasetReceipt>(['evaluation', 'datasets', dataset, 'reviews'], review);
}

async function prepare(file: string, options: OutputOptions): Promise<void> {
  const output = outputFor(options);
  const receipt = await prepared(restOf(await findServer()), file);
  sayReceipt(output, receipt);
  if (receipt.status === 'draft')
    output.note(
      `\nRead it:     precedent eval show ${inline(receipt.dataset_id)}\n` +
        `Approve it:  precedent eval review ${inline(receipt.dataset_id)} approve --hash ${inline(receipt.dataset_hash)} --reason "…"`,
    );
}

async function review(
  dataset: string,
  action: string,
  { hash, reason, ...options }: OutputOptions & { hash: string; reason: string },
): Promise<void> {
  const api = restOf(await findServer());
  sayReceipt(
    outputFor(options),
    await reviewed(api, dataset, { action, dataset_hash: hash, reason }),
  );
}

function sayReceipt(output: Output, receipt: DatasetReceipt): void {
  if (output.readable) output.say(receiptLines(receipt, output.paint));
  else output.json('precedent.eval-dataset/1', receipt);
}

async function run(
  given: string,
  { approve, ...options }: OutputOptions & { approve?: string },
): Promise<void> {
  const output = outputFor(options);
  const connection = await findServer();
  const api = restOf(connection);
  const input = await approvedDataset(api, given, approve);
  const receipt = await watched(output, (onProgress) =>
    callTool<RunReceipt>(connection, 'run_eval', input, onProgress),
  );
  const read = await api.get<Intelligence>(['evaluation', 'runs', receipt.run_id], {
    at_least: receipt.position,
  });
  if (output.readable) output.say(runLines(read, output.paint));
  else output.json('precedent.eval-run/1', read);
  const failed = failedChecks(read);
  if (failed > 0) endWith(checksFailed(receipt, failed));
  else output.note(`\nThe resolver returned what was expected on these cases.`);
}

/** What to run: a dataset by its id, or the one with a file's content; that one is approved first where a reason is given. */
async function approvedDataset(
  api: Api,
  given: string,
  reason: string | undefined,
): Promise<{ dataset_id: string; dataset_hash?: string }> {
  if (DATASET.test(given)) {
    if (reason === undefined) return { dataset_id: given };
    throw unusable('usage', '--approve is for a file, whose cases you have read', {
      path: '--approve',
      fix: `precedent eval review ${given} approve --hash <hash> --reason "…"`,
    });
  }
  const { dataset_id, dataset_hash, status } = await prepared(api, given);
  if (reason !== undefined && status === 'draft')
    await reviewed(api, dataset_id, { action: 'approve', dataset_hash, reason });
  return { dataset_id, dataset_hash };
}

function checksFailed(
  { run_id, summary }: Pick<RunReceipt, 'run_id' | 'summary'>,
  failed: number,
): Failure {
  return new Failure(EXIT.refused, {
    error: 'checks_failed',
    message: `${failed} of ${summary.checks.pass + summary.checks.fail} checks failed`,
    path: run_id,
    fix: 'look at what was observed: the memory may be wrong, or the expectation',
  });
}

async function watched<T>(
  output: Output,
  work: (onProgress?: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  if (!output.watched) return work();
  const { progressBar } = await import('./progress.js');
  const bar = progressBar('Measuring', 'cases');
  try {
    return await work((done, total) => {
      bar.update(done, total);
    });
  } finally {
    bar.stop();
  }
}

function show(id: string | undefined, options: OutputOptions): Promise<void> {
  return carryOut(
    options,
    'precedent.eval/1',
    (api) => shown(api, id),
    (read, paint) => {
      if (read.run) return runLines(read, paint);
      if (read.dataset) return datasetLines(read, paint);
      return datasetsLines(read.datasets ?? [], paint);
    },
  );
}

function shown(api: Api, id: string | undefined): Promise<Omit<Intelligence, 'next_cursor'>> {
  if (id !== undefined && RUN.test(id)) return api.get(['evaluation', 'runs', id]);
  const path = ['evaluation', 'datasets', ...(id === undefined ? [] : [id])];
  return allPages(
    (cursor, limit) => api.get<Intelligence>(path, { cursor, limit }),
    (all, page) => {
      all.datasets?.push(...(page.datasets ?? []));
      all.runs?.push(...(page.runs ?? []));
    },
  );
}

async function compare(earlier: string, later: string, options: OutputOptions): Promise<void> {
  const output = outputFor(options);
  const api = restOf(await findServer());
  const read = await api.get<Intelligence>(['evaluation', 'runs', later], { compare_to: earlier });
  if (output.readable) output.say(runLines(read, output.paint));
  else output.json('precedent.eval-comparison/1', read);
  const worse = regressions(read);
  if (worse === 0) return;
  endWith(
    new Failure(EXIT.refused, {
      error: 'checks_got_worse',
      message: `${worse} ${worse === 1 ? 'check' : 'checks'} passed before and failed now`,
      path: later,
      fix: 'look at what was observed in each of the two',
    }),
  );
}

async function exportDataset(dataset: string, options: OutputOptions): Promise<void> {
  const output = outputFor(options);
  const api = restOf(await findServer());
  const got = await api.get<DatasetExport>(['evaluation', 'datasets', dataset, 'export']);
  if (output.readable) process.stdout.write(got.jsonl);
  else output.json('precedent.eval-export/1', got);
}
