import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Finding } from '#event-store/ledger-check.js';
import type { ComparedModels, Verified } from '#ledger/index.js';
import type { ReadDatabase } from '#projections/read-database.js';
import type { Evidence } from './evidence.js';
import { EXIT, Failure } from './failure.js';
import { interruption } from './interruption.js';
import { onLedger } from './ledger.js';
import { collected, filled } from './options.js';
import { endWith, outputFor, type OutputOptions } from './output.js';
import { contradicted } from './statements.js';
import { openSource, withBar, withSource, type AuditSource, type SourceOptions } from './source.js';
import { reportLines, reportOf, type Report, type Unchecked } from './verify-report.js';

export interface VerifyOptions extends SourceOptions, OutputOptions {
  keys?: string;
  receipts?: string[];
  checkpoint?: string[];
  readModels: boolean;
}

export function verifyVerb(program: Command): void {
  withSource(
    program
      .command('verify')
      .summary('prove a ledger, and name the first bad position')
      .description(
        'Proves a ledger from its own bytes, also while a server writes it: every event, payload and text by its hash, positions ' +
          'and revisions, the tree of every workspace against every signed checkpoint, and the read models against ones that are ' +
          'made of the log anew. Says what could not be checked, and what would settle it.',
      ),
  )
    .option('--keys <file>', 'verifier keys that you trust, one a line; others are refused', filled)
    .option('--receipts <file-or-folder>', 'receipts that must hold in this ledger', collected)
    .option('--checkpoint <file>', 'a checkpoint that was kept elsewhere; repeat it', collected)
    .option('--no-read-models', 'leave the read models out')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent verify\n  precedent verify --data /mnt/copy --keys log-keys.txt --receipts receipts/\n' +
        '  precedent verify --bundle /mnt/export --json\n' +
        '\nExit code: 0 all that was checked holds, 1 something does not (the first bad position is named), 2 wrong usage,\n' +
        '3 there is nothing that can be read, 4 an export that was not finished, 130 interrupted.\n',
    )
    .action(verify);
}

async function verify(options: VerifyOptions): Promise<void> {
  const output = outputFor(options);
  const report = await onLedger('ledger', async () => {
    const source = await openSource(options);
    try {
      return await verifySource(source, options);
    } finally {
      await source.close();
    }
  });
  if (!output.readable) output.json('precedent.verify/1', report);
  else if (report.ok) output.say(reportLines(report, output.paint));
  if (report.finding) endWith(damaged(report.finding));
}

/** Everything that the options ask for, in the order in which it can be relied on. */
export async function verifySource(source: AuditSource, options: VerifyOptions): Promise<Report> {
  const { gather, keysFrom } = await import('./evidence.js');
  const { parseVkeys } = await import('#transparency/note.js');
  const trusted = options.keys === undefined ? undefined : keysFrom(options.keys);
  const { receipts = [], checkpoint: checkpoints = [] } = options;
  const needsKeys = receipts.length + checkpoints.length > 0 && !trusted;
  const keys = trusted ?? (needsKeys ? parseVkeys(await source.vkeys()) : []);
  const evidence = gather(receipts, checkpoints, keys);
  const unchecked: Unchecked[] = [];
  const trust = trusted && new Set(trusted.map(({ vkey }) => vkey));
  const scratch = mkdtempSync(join(tmpdir(), 'precedent-verify-'));
  try {
    return await checkAll({ source, options, evidence, unchecked, trust, scratch });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Checking {
  source: AuditSource;
  options: VerifyOptions;
  evidence: Evidence;
  unchecked: Unchecked[];
  trust: ReadonlySet<string> | undefined;
  scratch: string;
}

async function checkAll(checking: Checking): Promise<Report> {
  const { source, evidence } = checking;
  // Before the log's own moment, so that the read models are never ahead of it.
  const models = await openModels(checking);
  try {
    const verified = await checkLog(checking, models.db);
    const finding =
      (await first(source, verified)) ?? (await structure(source)) ?? evidence.finding;
    const compared =
      finding || !models.db ? undefined : await compare(checking, models.db, verified);
    const damage = finding ?? models.finding ?? verified.recordedWrongly ?? compared?.finding;
    return reportOf({
      ...checking,
      verified,
      compared,
      finding: damage ?? (await contradicted(source, evidence.stated, models.db)),
    });
  } finally {
    models.db?.close();
  }
}

/** What ended the loading of a bundle may come after something else that is wrong with what was loaded before it. */
async function first({ bundle }: AuditSource, verified: Verified): Promise<Finding | undefined> {
  const { earliest } = await import('#ledger/index.js');
  return earliest([verified.finding, bundle?.damage].filter((finding) => finding !== undefined));
}

async function checkLog(
  { source, evidence, trust }: Checking,
  models: ReadDatabase | undefined,
): Promise<Verified> {
  const { RecordedLeaves, verifyLedger } = await import('#ledger/index.js');
  const end = await source.store.end();
  const snapshot = await source.snapshot();
  try {
    return await withBar(source.watched, 'Checking the log', end, (onProgress) =>
      verifyLedger(snapshot, {
        contiguous: source.contiguous,
        wholeStreams: !source.bundle?.workspace,
        leaves: models && RecordedLeaves.in(models),
        trusted: trust,
        pins: evidence.pins,
        signal: interruption,
        onProgress,
      }),
    );
  } finally {
    snapshot.close();
  }
}

/** Indexes and definitions of a database that is none of the history, but that everything else reads through. */
async function structure({ kind, name }: AuditSource): Promise<Finding | undefined> {
  if (kind !== 'folder') return undefined;
  const { checkStructureIn } = await import('#event-store/sqlite-backup.js');
  const { LedgerDamage } = await import('#event-store/ledger-check.js');
  try {
    checkStructureIn(name);
    return undefined;
  } catch (error) {
    if (error instanceof LedgerDamage) return error.finding;
    throw error;
  }
}

async function openModels({
  source,
  options,
  unchecked,
}: Checking): Promise<{ db?: ReadDatabase; finding?: Finding }> {
  if (!options.readModels) {
    unchecked.push({
      what: 'read models',
      why: 'left out with --no-read-models',
      settle: 'run it without',
    });
    return {};
  }
  if (source.readFile === undefined) {
    unchecked.push({
      what: 'read models',
      why: 'there are none here: they are made of the log',
      settle: 'nothing has to be settled; a server makes them anew',
    });
    return {};
  }
  const { isStorageFailure, ReadDatabase } = await import('#projections/read-database.js');
  let db: ReadDatabase | undefined;
  try {
    db = ReadDatabase.openForReading(source.readFile);
    db.exec('BEGIN');
    // The first read chooses the moment.
    db.all('SELECT name FROM checkpoint');
    return { db };
  } catch (error) {
    db?.close();
    const found = error instanceof Error ? error.message : String(error);
    if (!isStorageFailure(error)) return { finding: unreadable(found) };
    unchecked.push({
      what: 'read models',
      why: `read.sqlite cannot be opened here: ${found}`,
      settle: 'copy the folder to where it may be written, and verify the copy',
    });
    return {};
  }
}

function unreadable(found: string): Finding {
  return { at: 'read.sqlite', what: 'reading', expected: 'readable read models', found };
}

async function compare(
  { source, unchecked, scratch }: Checking,
  models: ReadDatabase,
  { coverage }: Verified,
): Promise<ComparedModels> {
  const { compareModels } = await import('#ledger/index.js');
  const { ReadDatabase } = await import('#projections/read-database.js');
  const { projections } = await import('../../server/src/projections.js');
  const draft = ReadDatabase.openDraft(join(scratch, 'read.sqlite'));
  const end = coverage.last_position;
  try {
    const compared = await withBar(source.watched, 'Checking the read models', end, (onProgress) =>
      compareModels({
        store: source.store,
        end,
        models,
        draft,
        projections,
        onProgress,
        signal: interruption,
      }),
    );
    for (const { name, why } of compared.skipped)
      unchecked.push({
        what: `read model ${name}`,
        why,
        settle: 'verify with the version of the program that made it, or let a server make it anew',
      });
    return compared;
  } finally {
    draft.close();
  }
}

/** Where it is, what should be there and what is. */
function damaged({ at, what, expected, found }: Finding): Failure {
  return new Failure(EXIT.refused, {
    error: 'not_proved',
    message: `not as it was recorded, at ${at}: ${what} should be ${expected} and is ${found}`,
    path: at,
    issues: [
      { path: `${at}, expected`, problem: expected },
      { path: `${at}, found`, problem: found },
    ],
    fix: 'keep this copy as it is for whoever looks into it; a backup or an export from before, and receipts, tell what was there',
  });
}
