import type { Block, Markdown, Section } from '#kernel/markdown.js';
import { clipped } from './document-text.js';
import type { Span } from './document-types.js';

const LONGEST_QUOTE = 500;
/** A cut may fall on a sentence's end only if so much is left of the quote. */
const SHORTEST_CUT = 200;
const MOST_BLOCKS = 40;

const NUMBER = String.raw`(?:\d+(?:\.\d+)*[.)]?\s+)?`;
/** Headings under which a decision is written down, in the order of trust. */
const HEADINGS: readonly RegExp[] = [
  new RegExp(
    `^${NUMBER}(?:the\\s+|our\\s+)?(?:existing\\s+|final\\s+|architectur\\w+\\s+)?decisions?(?:\\s+(?:outcome|made|taken|record))?\\s*(?::.*)?$`,
    'i',
  ),
  new RegExp(
    `^${NUMBER}(?:outcome|resolution|what (?:we|was) decided|chosen (?:option|solution|alternative))\\s*(?::.*)?$`,
    'i',
  ),
  new RegExp(
    `^${NUMBER}(?:proposals?|proposed (?:decision|solution|change|design|implementation)|what(?:['’]s| is) (?:being )?proposed|recommendation|solution)\\s*(?::.*)?$`,
    'i',
  ),
];
const MARKED = /^decisions?\s*:\s*\S/i;
const EMPTY_WORDS =
  /^(?:tbd|tbc|todo|to be (?:done|decided|written|defined)|n\/?a|none|pending|\?+)[\s.!…]*$/i;
const UNFILLED =
  /^[[{<][^\]}>]*[\]}>]\.?$|["“'][[{](?:option|title)|\[(?:option \d|justification)|\{(?:title of|justification)/i;

/** Whether the document has a place for its decision, be it filled or not. */
export function hasDecisionPlace(markdown: Markdown): boolean {
  return decisionSections(markdown).length > 0 || markdown.blocks.some(isMarked);
}

/**
 * The decision in the document's own words: the first paragraph that says something under the most trusted heading, the list it
 * introduces included; else a paragraph marked `Decision:`. Texts that a template left behind say nothing.
 */
export function decisionQuote(
  source: string,
  markdown: Markdown,
  isPlaceholder: (text: string) => boolean,
): Span | undefined {
  for (const { blocks } of decisionSections(markdown)) {
    const at = blocks.findIndex((block) => says(block, isPlaceholder));
    const first = blocks[at];
    if (first !== undefined) return cut(source, first.start, endOfThought(source, blocks, at));
  }
  const marked = markdown.blocks.find((block) => isMarked(block) && says(block, isPlaceholder));
  return marked === undefined ? undefined : cut(source, marked.start, marked.end);
}

function decisionSections(markdown: Markdown): Section[] {
  return HEADINGS.flatMap((pattern) =>
    markdown.sections.filter(({ heading }) => pattern.test(heading.text.trim())),
  );
}

function isMarked(block: Block): boolean {
  return block.kind === 'paragraph' && MARKED.test(block.text);
}

function says(block: Block, isPlaceholder: (text: string) => boolean): boolean {
  const text = block.text.trim();
  if (block.kind !== 'paragraph' || !/\p{L}{2}/u.test(text)) return false;
  return !EMPTY_WORDS.test(text) && !UNFILLED.test(text) && !isPlaceholder(text);
}

/** A paragraph that introduces a list goes on through the list, a first list item through its list. */
function endOfThought(source: string, blocks: readonly Block[], at: number): number {
  const first = blocks[at];
  if (first === undefined) return 0;
  const introduces = /(?:[:,]|\bbecause)$/.test(first.text.trim());
  let listing = first.listLevel > 0;
  let { end } = first;
  for (const block of blocks.slice(at + 1, at + 1 + MOST_BLOCKS)) {
    if (block.kind === 'heading' || end - first.start > LONGEST_QUOTE) break;
    const inList = block.listLevel > 0;
    const adjoins = !/\n[ \t]*\r?\n/.test(source.slice(end, block.start));
    const goesOn = inList
      ? listing || introduces || adjoins
      : introduces && !listing && end === first.end;
    if (!goesOn) break;
    listing ||= inList;
    end = block.end;
  }
  return end;
}

function cut(source: string, start: number, end: number): Span | undefined {
  let text = source.slice(start, end).trimEnd();
  if (text.length > LONGEST_QUOTE) text = shortened(text).trimEnd();
  return text === '' ? undefined : { text, start, end: start + text.length };
}

function shortened(text: string): string {
  const room = text.slice(0, LONGEST_QUOTE + 1);
  const sentence = [...room.matchAll(/(?<=[^\s\d])[.!?]["'”’)\]*]*(?=\s)/g)].at(-1);
  const atSentence = sentence === undefined ? 0 : sentence.index + sentence[0].length;
  if (atSentence >= SHORTEST_CUT) return room.slice(0, atSentence);
  const atWord = room.search(/\s\S*$/);
  if (atWord > 0) return room.slice(0, atWord);
  return clipped(text, LONGEST_QUOTE);
}

/** Paragraphs a template puts where a record says something: under its decision headings. */
export function decisionTexts(markdown: Markdown): string[] {
  return decisionSections(markdown).flatMap(({ blocks }) => blocks.map(({ text }) => text));
}
