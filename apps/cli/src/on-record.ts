import { everyWorkspace, workspaceView } from '#access/index.js';
import type { Known } from '#decisions/index.js';
import { isWhen, WHEN_FIX, whenMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import { unusable, type Failure } from './failure.js';
import { onLedger } from './ledger.js';
import type { RecordOptions } from './record-options.js';
import { openSource, withReadModels, type AuditSource } from './source.js';

/** The record of one workspace as it stood when it was opened. */
export interface OnRecord {
  source: AuditSource;
  reads: Reads;
  /** A stored payload with its sealed texts as far as there are keys. */
  shown: (payload: string) => string;
  workspace: string;
  /** IANA zone in which a date without a time is read. */
  zone: string;
  /** Log position that the read models have reached. */
  position: number;
}

/** Runs `work` on one moment of the read models of a ledger: those of its folder, or new ones where it has none. */
export async function onRecord<T>(
  options: RecordOptions,
  work: (record: OnRecord) => Promise<T> | T,
): Promise<T> {
  return onLedger('ledger', async () => {
    const source = await openSource(options);
    try {
      return await withReadModels(source, {}, async (db) => {
        // One snapshot for all that is read, however long the output takes.
        db.exec('BEGIN');
        try {
          const workspace = chosen(everyWorkspace(db), options.workspace);
          const { zone } = workspaceView(db, workspace);
          return await work({
            source,
            reads: db,
            shown: (payload) => db.shown(payload),
            workspace,
            zone,
            position: positionOf(db),
          });
        } finally {
          db.exec('COMMIT');
        }
      });
    } finally {
      await source.close();
    }
  });
}

function positionOf(reads: Reads): number {
  return (reads.get('SELECT min(position) AS n FROM checkpoint')?.['n'] ?? 0) as number;
}

function chosen(all: readonly { id: string; name: string }[], given: string | undefined): string {
  const ids = all.map(({ id }) => id);
  if (given !== undefined && ids.includes(given)) return given;
  const [only] = ids;
  if (given === undefined && only !== undefined && ids.length === 1) return only;
  throw unusable(
    given === undefined ? 'workspace_missing' : 'unknown_workspace',
    given === undefined
      ? `this ledger holds ${ids.length} workspaces: say which one is to be read`
      : `this ledger holds no workspace ${given}`,
    {
      path: '--workspace',
      fix:
        ids.length === 0
          ? 'is it the right ledger? It holds no workspace'
          : `give one of ${listed(ids)}`,
    },
  );
}

const LISTED = 20;

function listed(ids: readonly string[]): string {
  const more = ids.length > LISTED ? ` and ${ids.length - LISTED} more` : '';
  return `${ids.slice(0, LISTED).join(', ')}${more}`;
}

type Given = Readonly<Record<string, string | undefined>>;

/** Refuses options that are no time; those of `moments` may be log positions as well. */
export function times(instants: Given, moments: Given = {}): void {
  for (const [name, text] of Object.entries(instants))
    if (text !== undefined && !isWhen(text)) throw noTime(name, text, WHEN_FIX);
  for (const [name, text] of Object.entries(moments))
    if (text !== undefined && !isPosition(text) && !isWhen(text))
      throw noTime(name, text, `${WHEN_FIX}, or a log position like 120`);
}

function noTime(name: string, text: string, fix: string): Failure {
  return unusable('invalid_time', `"${text}" is no moment`, { path: name, fix });
}

/** A log position as text. */
export function isPosition(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

/** A position, or an instant, or the first moment of a date's day: what was known then. */
export function knownAt(text: string, zone: string): Known {
  return isPosition(text)
    ? { position: Number(text), ms: Infinity }
    : { position: Infinity, ms: whenMs(text, zone) };
}
