import { DateTime, IANAZone } from 'luxon';
import { invalid } from './refusal.js';

/** Interval end that is never reached: "still". */
export const FOREVER = 8_640_000_000_000_000;
/** Interval start without a beginning. */
export const BEGINNING = -8_640_000_000_000_000;

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** True for a calendar date (`2026-01-31`) or an instant with its offset (`2026-01-31T09:00:00Z`). A time without an offset is none: whose clock would it be? */
export function isWhen(text: string): boolean {
  if (DATE.test(text)) return DateTime.fromISO(text, { zone: 'utc' }).isValid;
  return INSTANT.test(text) && DateTime.fromISO(text, { setZone: true }).isValid;
}

/** Milliseconds UTC of an instant, or of the first moment of a date's day in `zone` (IANA). Validated by `isWhen` before. */
export function whenMs(text: string, zone: string): number {
  const at = DateTime.fromISO(text, DATE.test(text) ? { zone } : { setZone: true });
  if (!at.isValid) throw invalid('time', `"${text}" is no date or instant`, WHEN_FIX);
  return at.toMillis();
}

/** Canonical text of an instant: UTC, milliseconds. */
export function isoMs(ms: number): string {
  return new Date(ms).toISOString();
}

export function isZone(name: string): boolean {
  return IANAZone.isValidZone(name);
}

export const WHEN_FIX = 'give a date like 2026-01-31 or an instant like 2026-01-31T09:00:00Z';

/** Days that are told by a word, in whose zone it is asked. */
export const DAY_WORDS: readonly string[] = ['today', 'yesterday'];

/** Half-open, in milliseconds UTC. */
export interface TimeWindow {
  startMs: number;
  endMs: number;
}

/**
 * What lies between two times: dates and instants (`isWhen`) or day words, all of which mean the first moment of their day in `zone`.
 * A day word without an end is that whole day. `endMs` before `startMs` is the caller's to refuse.
 */
export function timeWindow(
  since: string | undefined,
  until: string | undefined,
  zone: string,
  nowMs: number,
): TimeWindow {
  const dayMs = (word: string, later: number): number =>
    DateTime.fromMillis(nowMs, { zone })
      .startOf('day')
      .plus({ days: later - DAY_WORDS.indexOf(word) })
      .startOf('day')
      .toMillis();
  const momentMs = (text: string): number =>
    DAY_WORDS.includes(text) ? dayMs(text, 0) : whenMs(text, zone);
  const open = since !== undefined && DAY_WORDS.includes(since) ? dayMs(since, 1) : FOREVER;
  return {
    startMs: since === undefined ? BEGINNING : momentMs(since),
    endMs: until === undefined ? open : momentMs(until),
  };
}
