import type { Reads } from '#projections/read-database.js';
import type { ClaimView, ConflictView, Known } from '../domain/resolver.js';
import type { Tally } from './claims.js';

export function claimTally(reads: Reads, workspace: string): Record<Tally, number> {
  const row = reads.get('SELECT * FROM claim_tally WHERE workspace = ?', workspace);
  const n = (column: Tally): number => (row?.[column] ?? 0) as number;
  return {
    decisions: n('decisions'),
    heads: n('heads'),
    candidates: n('candidates'),
    open_conflicts: n('open_conflicts'),
  };
}

/** How many ended decisions an answer brings along. */
export const HISTORY_MAX = 20;

/**
 * The claims that can matter to a question about one topic. With all knowledge these are the ones whose validity reaches beyond
 * `asOfMs`, the last ended ones, and the candidates; with knowledge as of a past moment, all that were approved by then.
 */
export function claimsForQuestion(
  reads: Reads,
  workspace: string,
  topic: string,
  asOfMs: number,
  known: Known,
): ClaimView[] {
  const candidates = reads.all(
    `SELECT body FROM claim WHERE workspace = ? AND topic = ? AND state = 'candidate' ORDER BY position LIMIT 50`,
    workspace,
    topic,
  );
  if (known.position < Infinity || known.ms < Infinity) {
    const all = reads.all(
      'SELECT body FROM claim WHERE workspace = ? AND topic = ?',
      workspace,
      topic,
    );
    return bodies(all);
  }
  const reaching = reads.all(
    `SELECT body FROM claim WHERE workspace = ? AND topic = ? AND approved_position IS NOT NULL AND end_ms > ? AND start_ms <= ?`,
    workspace,
    topic,
    asOfMs,
    asOfMs,
  );
  const later = reads.all(
    `SELECT body FROM claim WHERE workspace = ? AND topic = ? AND approved_position IS NOT NULL AND end_ms > ? AND start_ms > ?
      LIMIT 1`,
    workspace,
    topic,
    asOfMs,
    asOfMs,
  );
  const ended = reads.all(
    `SELECT body FROM claim WHERE workspace = ? AND topic = ? AND approved_position IS NOT NULL AND end_ms <= ?
      ORDER BY end_ms DESC LIMIT ?`,
    workspace,
    topic,
    asOfMs,
    HISTORY_MAX + 1,
  );
  const found = bodies<ClaimView>([...reaching, ...later, ...ended, ...candidates]);
  return found.length > 0 ? found : bodies<ClaimView>(rejected(reads, workspace, topic));
}

/** Enough to say that there were some. */
function rejected(reads: Reads, workspace: string, topic: string): ReturnType<Reads['all']> {
  return reads.all(
    'SELECT body FROM claim WHERE workspace = ? AND topic = ? LIMIT 1',
    workspace,
    topic,
  );
}

export function conflictsOfTopic(reads: Reads, workspace: string, topic: string): ConflictView[] {
  const rows = reads.all(
    'SELECT body FROM conflict WHERE workspace = ? AND topic = ? ORDER BY position',
    workspace,
    topic,
  );
  return bodies(rows);
}

/** One claim, wherever it stands. */
export function claimById(
  reads: Reads,
  workspace: string,
  topic: string,
  id: string,
): ClaimView | undefined {
  const row = reads.get(
    'SELECT body FROM claim WHERE workspace = ? AND topic = ? AND id = ?',
    workspace,
    topic,
    id,
  );
  return row && (JSON.parse(row['body'] as string) as ClaimView);
}

function bodies<T>(rows: ReturnType<Reads['all']>): T[] {
  return rows.map((row) => JSON.parse(row['body'] as string) as T);
}
