import type { Reads } from '#projections/read-database.js';
import type { Known } from '../domain/claim-view.js';

/**
 * What was known at a past moment, without reading everything that came before or after it.
 *
 * Events of one append become known together: a position inside an append means the moment before it.
 *
 * A claim's stretch of the log, from its approval to its recorded end, is placed at one number of an implicit binary tree over all
 * positions: the stretch's highest fork. The stretches around a given position can only be placed on the way from the root to that
 * position, at most 53 numbers (Kriegel's relational interval tree).
 */
export function forkOf(first: number, last: number): number {
  if (last <= first) return first;
  let half = 1;
  while (Math.floor(first / (2 * half)) !== Math.floor(last / (2 * half))) half *= 2;
  return Math.floor(last / half) * half;
}

const HIGHEST = 2 ** 52;

/** Forks at which a stretch around `position` may be placed: those up to it and those after it. */
export function forksAround(position: number): { upTo: number[]; after: number[] } {
  const upTo = [position];
  const after: number[] = [];
  for (let half = 1; half <= HIGHEST; half *= 2) {
    const fork = Math.floor(position / (2 * half)) * 2 * half + half;
    if (fork === position) continue;
    (fork < position ? upTo : after).push(fork);
  }
  return { upTo, after };
}

/** The same knowledge, with a position inside an append moved before that append. */
export function wholeAppends(reads: Reads, workspace: string, known: Known): Known {
  if (known.position === Infinity) return known;
  const next = reads.get(
    'SELECT append FROM timeline WHERE workspace = ? AND position > ? ORDER BY position LIMIT 1',
    workspace,
    known.position,
  );
  const append = next?.['append'] as number | undefined;
  return append !== undefined && append <= known.position
    ? { ...known, position: append - 1 }
    : known;
}

/** Position up to which topics were known. Recorded time never decreases along the log, so the place is found by halving. */
export function knownPosition(reads: Reads, workspace: string, known: Known): number {
  const last = reads.get('SELECT max(position) AS at FROM timeline WHERE workspace = ?', workspace);
  let high = Math.min(known.position, (last?.['at'] ?? 0) as number);
  if (known.ms === Infinity) return high;
  let low = 0;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    const row = reads.get(
      'SELECT position, recorded_ms FROM timeline WHERE workspace = ? AND position >= ? ORDER BY position LIMIT 1',
      workspace,
      middle,
    );
    if (row && (row['recorded_ms'] as number) <= known.ms) low = row['position'] as number;
    else high = middle - 1;
  }
  return Math.min(low, high);
}
