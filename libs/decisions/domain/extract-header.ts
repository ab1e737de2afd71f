import { parseMarkdown } from '#kernel/markdown.js';
import { parseWrittenDate } from '#kernel/written-date.js';
import { readDocumentSet, type DecisionDocument } from './document-set.js';
import { clipped } from './document-text.js';

/** What the head of a text says about the decision that the text as a whole is. */
export interface Header {
  title?: string;
  status?: string;
  decision?: string;
  topic?: string;
  /** ISO day, where the text settles it. */
  date?: string;
  /** What it says it replaces or is replaced by, as written. */
  succession: { label: string; names: string }[];
  /** The head as it stands in the text. */
  start: number;
  end: number;
  /** The text read as a decision record (ADR, MADR, Nygard), where it is one. */
  document?: DecisionDocument;
}

const FIELD =
  /^\s{0,3}(?:[-*+]\s+)?[*_]{0,2}([A-Za-z][A-Za-z _-]{1,30}?)[*_]{0,2}\s*:[*_]{0,2}\s*(.*?)\s*$/;
const FRONT_MATTER =
  /^\uFEFF?---[ \t]*(?:\r\n|\n|\r)[\s\S]{0,65536}?(?:\r\n|\n|\r)(?:---|\.\.\.)[ \t]*(?=\r|\n|$)/;
const SUCCESSION =
  /^(?:replaces|replaced by|supersedes|superseded by|obsoletes|obsoleted by|amends)$/;
const DATE =
  /^(?:date|decided|decided on|decision date|created|effective|effective from|resolved)$/;
const DECISION = /^(?:decision|decided)s?$/;
const LONGEST_TITLE = 120;
/** One line with a colon is a line with a colon. */
const LEAST_FIELDS = 2;
/** A status is looked for in the head of a text only. */
const HEAD = 6_000;
const STATUS =
  /^\s{0,3}(?:#{1,6}\s+|[-*|+]\s*)?[*_]{0,2}(?:[A-Za-z]+ )?status[*_]{0,2}\s*(?:[:|]|$)/im;
const LONGEST_DOCUMENT = 262_144;

/** Reads front matter or a block of `Label: value` lines at the top, and the record that the text is if it states a status. */
export function headerOf(text: string): Header | undefined {
  const front = FRONT_MATTER.exec(text);
  const header = front ? frontMatter(front[0]) : fieldBlock(text);
  const stated = STATUS.test(text.slice(0, HEAD)) || header?.status !== undefined;
  const document =
    stated && text.length <= LONGEST_DOCUMENT
      ? readDocumentSet([{ path: 'source.md', text }]).decisions[0]
      : undefined;
  const isRecord = document && document.status !== 'unstated' && document.status !== 'unrecognised';
  if (!header && !isRecord) return undefined;
  return { ...(header ?? { succession: [], start: 0, end: 0 }), ...(isRecord ? { document } : {}) };
}

function frontMatter(front: string): Header {
  const { frontMatter: fields } = parseMarkdown(`${front}\n`);
  const pairs = [...fields].map(([key, values]) => [key.replaceAll('-', ' '), values.join(', ')]);
  return headerFrom(pairs as [string, string][], 0, front.length);
}

interface FieldBlock {
  pairs: [string, string][];
  start: number;
  end: number;
}

/** Lines `Label: value` before the first blank line, a title above them apart: as mail, PEPs and minutes have them. */
function fieldBlock(text: string): Header | undefined {
  const block: FieldBlock = { pairs: [], start: -1, end: 0 };
  for (const { index, 0: whole } of text.slice(0, HEAD).matchAll(/[^\r\n]*(?:\r\n|\r|\n|$)/g))
    if (!belongs(whole.trimEnd(), index, block)) break;
  // `Decision: …` in a head is a marked paragraph like any other.
  const fields = block.pairs.filter(([label]) => !DECISION.test(label));
  return fields.length < LEAST_FIELDS ? undefined : headerFrom(fields, block.start, block.end);
}

/** Takes a line into the block; false for the one that ends it. */
function belongs(line: string, index: number, block: FieldBlock): boolean {
  const [, label, value = ''] = FIELD.exec(line) ?? [];
  const last = block.pairs.at(-1);
  if (label !== undefined) {
    if (!last) block.start = index;
    block.pairs.push([label.toLowerCase().replace(/[\s_-]+/g, ' '), value]);
  } else if (last && /^\s+\S/.test(line)) last[1] += ` ${line.trim()}`;
  else return !last && (line === '' || isTitle(line));
  block.end = index + line.length;
  return true;
}

function isTitle(line: string): boolean {
  return line.length < LONGEST_TITLE;
}

function headerFrom(pairs: readonly [string, string][], start: number, end: number): Header {
  const first = (wanted: RegExp): string | undefined => {
    const value = pairs.find(([label, given]) => wanted.test(label) && given.trim() !== '')?.[1];
    return value === undefined ? undefined : clipped(value.trim(), 2_000);
  };
  const written = first(DATE);
  const date = written === undefined ? undefined : parseWrittenDate(written);
  const fields = {
    title: first(/^(?:title|subject)$/),
    status: first(/^status$/),
    decision: first(DECISION),
    topic: first(/^topics?$/),
    date: date && 'iso' in date ? date.iso : undefined,
  };
  const succession = pairs
    .filter(([label, names]) => SUCCESSION.test(label) && names.trim() !== '')
    .map(([label, names]) => ({ label, names: clipped(names.trim(), 200) }));
  const stated = Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined));
  return { ...stated, succession, start, end };
}
