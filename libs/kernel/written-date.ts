import { DateTime } from 'luxon';

/** A day as people write it down: the ISO date, or why none can be read without guessing; `undefined` where no date is written. */
export type WrittenDate = { iso: string } | { problem: string } | undefined;

const YEAR_FIRST = ['yyyy-MM-dd', 'yyyy/MM/dd', 'yyyy.MM.dd', 'yyyy-M-d', 'yyyy/M/d', 'yyyyMMdd'];
const MONTH_NAMED = ['d LLLL yyyy', 'd LLL yyyy', 'LLLL d yyyy', 'LLL d yyyy'];
const NUMBERS = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})$/;
const SHORT_YEAR = /^\d{1,2}[/.-]\d{1,2}[/.-]\d{2}$/;
const PLACEHOLDER = /^(?:[[{<(].*[\]}>)]|[YMD\s/.-]+)$/is;
const TIME = /[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?$/;
const LONGEST = 64;

/** Reads one date. Day and month in figures alone are read only where one order is possible (`26/03/2018`, `11/11/2024`). */
export function parseWrittenDate(text: string): WrittenDate {
  const written = text.trim().replace(/[.,;]$/, '');
  if (written === '' || PLACEHOLDER.test(written)) return undefined;
  if (written.length > LONGEST) return { problem: 'is no date this reader knows' };
  const day = written.replace(TIME, '');
  if (SHORT_YEAR.test(day)) return { problem: 'has a year of two figures' };
  const numbers = NUMBERS.exec(day);
  if (numbers !== null)
    return fromNumbers(Number(numbers[1]), Number(numbers[3]), numbers[4] ?? '');
  return fromFormats(day, YEAR_FIRST) ?? fromFormats(plainWords(day), MONTH_NAMED) ?? noDay(day);
}

function fromNumbers(first: number, second: number, year: string): WrittenDate {
  const dayFirst = isoOf(`${year}-${second}-${first}`, 'yyyy-M-d');
  const monthFirst = isoOf(`${year}-${first}-${second}`, 'yyyy-M-d');
  if (dayFirst !== undefined && monthFirst !== undefined && dayFirst !== monthFirst)
    return { problem: `may mean ${dayFirst} or ${monthFirst}` };
  const iso = dayFirst ?? monthFirst;
  return iso === undefined ? { problem: 'is no day of the calendar' } : { iso };
}

function fromFormats(text: string, formats: readonly string[]): WrittenDate {
  for (const format of formats) {
    const iso = isoOf(text, format);
    if (iso !== undefined) return { iso };
  }
  return undefined;
}

function isoOf(text: string, format: string): string | undefined {
  const day = DateTime.fromFormat(text, format, { zone: 'utc', locale: 'en-US' });
  return day.isValid ? day.toISODate() : undefined;
}

/** `Thursday, 1st of February, 2024` → `1 February 2024`. */
function plainWords(text: string): string {
  return text
    .replace(/^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[\s,.]+/i, '')
    .replace(/(\d)(?:st|nd|rd|th)\b/i, '$1')
    .replace(/\bsept\b/i, 'Sep')
    .replace(/\bof\b|[,.]/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

function noDay(text: string): WrittenDate {
  return {
    problem: /^\d{4}\D\d{1,2}\D\d{1,2}$/.test(text)
      ? 'is no day of the calendar'
      : 'is no date this reader knows',
  };
}
