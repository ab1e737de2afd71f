/** A quote found in a source. `excerpt` is always the source's own text from `start` to `end` (UTF-16 offsets). */
export interface VerifiedQuote {
  excerpt: string;
  start: number;
  end: number;
  /** False: equal only after folding white space, quotation marks, dashes and Unicode form. */
  verbatim: boolean;
}

export const QUOTE_MAX = 500;

/**
 * Finds a quote in a source (QO-7, B35): exactly, or after folding what typesetting changes and meaning does not. Nothing else is
 * forgiven: another word, a missing "not" or a transliteration is not found. The first occurrence wins.
 */
export function verifyQuote(text: string, quote: string): VerifiedQuote | undefined {
  const exact = quote.trim() === '' ? -1 : findWhole(text, quote);
  if (exact >= 0)
    return { excerpt: quote, start: exact, end: exact + quote.length, verbatim: true };
  const needle = fold(quote).text.trim();
  if (needle === '') return undefined;
  const hay = fold(text);
  const at = findWhole(hay.text, needle);
  if (at < 0) return undefined;
  const start = hay.starts[at] ?? 0;
  const end = hay.ends[at + needle.length - 1] ?? text.length;
  return { excerpt: text.slice(start, end), start, end, verbatim: false };
}

/** A match that begins or ends inside a word would let "not" be cut off a "cannot". */
function findWhole(hay: string, needle: string): number {
  for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, at + 1)) {
    const before = hay.charAt(at - 1) + needle.charAt(0);
    const after = needle.charAt(needle.length - 1) + hay.charAt(at + needle.length);
    if (!INSIDE_WORD.test(before) && !INSIDE_WORD.test(after)) return at;
  }
  return -1;
}

const INSIDE_WORD = /^[\p{L}\p{N}]{2}$/u;

interface Folded {
  text: string;
  /** For each UTF-16 unit of `text`: where in the original it begins and ends. */
  starts: number[];
  ends: number[];
}

const SAME: Readonly<Record<string, string>> = {
  '\u2018': "'", '\u2019': "'", '\u201a': "'", '\u201b': "'", '\u2032': "'",
  '\u201c': '"', '\u201d': '"', '\u201e': '"', '\u201f': '"', '\u2033': '"', '\u00ab': '"', '\u00bb': '"',
  '\u2010': '-', '\u2011': '-', '\u2012': '-', '\u2013': '-', '\u2014': '-', '\u2015': '-', '\u2212': '-',
  '\u2026': '...',
}; // prettier-ignore

const segments = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Folds grapheme by grapheme, so that composed and decomposed letters meet and offsets stay exact. */
function fold(original: string): Folded {
  const text: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let spaceOpen = false;
  for (const { segment, index } of segments.segment(original)) {
    const end = index + segment.length;
    if (/^\s+$/u.test(segment)) {
      if (spaceOpen) ends[ends.length - 1] = end;
      else push(' ', index, end);
      spaceOpen = true;
      continue;
    }
    spaceOpen = false;
    push(SAME[segment] ?? segment.normalize('NFC'), index, end);
  }
  return { text: text.join(''), starts, ends };

  function push(piece: string, start: number, end: number): void {
    text.push(piece);
    for (let i = 0; i < piece.length; i++) {
      starts.push(start);
      ends.push(end);
    }
  }
}
