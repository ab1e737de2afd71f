// Nothing is seen where they stand and no language needs them: zero-width space, soft hyphen, word joiner, BOM.
// The joiners U+200C and U+200D stay: Persian and Indic words, and emoji, differ by them.
const DROPPED = /[\u00ad\u200b\u2060\ufeff]/gu;
const ASCII_WORD = /^[\x21-\x7e]+$/;

/**
 * The form in which names are compared: Unicode compatibility form, case, outer/inner white space and characters that show nothing
 * do not count (B33).
 */
export function foldName(name: string): string {
  if (ASCII_WORD.test(name)) return name.toLowerCase();
  return name
    .replace(DROPPED, '')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** Key under which a name is looked up: as `foldName`, and spaces, hyphens and underscores are one. */
export function nameKey(name: string): string {
  return foldName(name)
    .replace(/[\s_-]+/gu, ' ')
    .trim();
}

const VISIBLE = /[^\s\u2800\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Some character of it can be seen: it is more than white space, controls and characters of no width. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

// Controls (but tab and newline), soft hyphen, zero-width and bidirectional marks, tags, variation and BOM.
const UNSEEN =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class -- these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Shows characters that a reader cannot see, or that reorder what he sees, as `\u{202e}`. For every text that leaves. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (c) => (c === '\r' ? c : `\\u{${c.codePointAt(0)?.toString(16)}}`));
}

/** Words in folded form, for matching a question against names. */
export function words(text: string): string[] {
  return foldName(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}
