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
