import { DatabaseSync } from 'node:sqlite';
import { checkLedger, type Checked, type Coverage } from './ledger-check.js';
import { STEPS, stepsFrom, type MigrationStep } from './migration.js';
import { ledgerFile, layoutOf, lockLedger, newerLedger, pragma } from './sqlite-file.js';
import { SCHEMA_VERSION } from './sqlite-file.js';
import { SqliteSnapshot } from './sqlite-snapshot.js';

export interface MigrationPlan {
  from: number;
  to: number;
  steps: readonly MigrationStep[];
}

export interface MigrationOptions {
  signal?: AbortSignal;
  /** Each step as it begins, and the two readings of the history. */
  onStep?: (what: string) => void;
  /** The steps that this program knows, and the layout that they lead to. */
  steps?: readonly MigrationStep[];
  to?: number;
}

/** What `migrate` would do. Reads only, and may be asked while a server runs. Refuses `newer_ledger`. */
export function planMigration(dir: string, options: MigrationOptions = {}): MigrationPlan {
  const { steps = STEPS, to = SCHEMA_VERSION } = options;
  const from = layoutOf(dir);
  if (from > to) throw newerLedger(ledgerFile(dir), from, to);
  // 0 is a database that its creator did not live to lay out: the next start does it.
  return { from, to, steps: from === 0 ? [] : stepsFrom(from, to, steps) };
}

/**
 * Brings the ledger in `dir` to the present layout, in one transaction: it has the old layout or the new one, whenever this dies.
 * The history is the same before and after, or nothing is changed. Refuses `ledger_in_use` and what `planMigration` refuses.
 */
export async function migrate(
  dir: string,
  options: MigrationOptions = {},
): Promise<MigrationPlan & { coverage?: Coverage }> {
  if (planMigration(dir, options).steps.length === 0) return planMigration(dir, options);
  const lock = lockLedger(dir);
  try {
    // Somebody may have migrated it before the lock was ours.
    const plan = planMigration(dir, options);
    const { coverage } = await apply(dir, plan, options);
    return { ...plan, coverage };
  } finally {
    lock.release();
  }
}

async function apply(
  dir: string,
  plan: MigrationPlan,
  options: MigrationOptions,
): Promise<Checked> {
  const db = new DatabaseSync(ledgerFile(dir), { timeout: 5000 });
  try {
    db.exec('PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON;');
    db.exec('BEGIN IMMEDIATE');
    options.onStep?.('reading the history');
    const before = await readAll(db, options);
    for (const step of plan.steps) {
      options.onStep?.(step.what);
      db.exec(step.sql);
      if (!db.isTransaction) throw new Error(`"${step.what}" ended the transaction`);
    }
    db.exec(`PRAGMA user_version = ${plan.to}`);
    options.onStep?.('reading the history again');
    const after = await readAll(db, options, before);
    options.signal?.throwIfAborted();
    db.exec('COMMIT');
    pragma(db, 'wal_checkpoint(TRUNCATE)');
    return after;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  } finally {
    db.close();
  }
}

function readAll(db: DatabaseSync, { signal }: MigrationOptions, expected?: Checked) {
  return checkLedger(new SqliteSnapshot(db), {
    contiguous: true,
    ...(signal ? { signal } : {}),
    ...(expected ? { expected } : {}),
  });
}
