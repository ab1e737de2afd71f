/** Words struck out (GitHub's Markdown): no longer said. */
export const STRUCK = /~~[^~]*~~/g;

/** The text's beginning, of at most `most` UTF-16 units, never ending inside of a character. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
}

/** A document's words as they go into a finding: on one line and short. */
export function shown(text: string): string {
  const line = clipped(text, 1_000).replace(/\s+/g, ' ').trim();
  return line.length > 120 ? `${clipped(line, 119)}…` : line;
}
