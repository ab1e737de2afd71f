import { sliceText, type Block, type LinkedText, type Markdown } from '#kernel/markdown.js';

/** A line `Label: value` at the top of a document: a plain line, a list item, or a row of a table. */
export interface Field {
  /** Lower case, words separated by one space. */
  label: string;
  content: LinkedText;
  /** The value as written, Markdown included. */
  raw: string;
  /** Label and value. */
  line: LinkedText;
}

const LABEL = /^[\s|]*([A-Za-z][A-Za-z _-]{1,30}?)\s*[:|][\s|]*/;
/** `Date 09/04/2018`: the one label that is also found without its colon. */
const DATE_LABEL = /^(date)\s+(?=\d)/i;
const MAX_FIELDS = 100;
const COMMENT = /<!--.*?(?:-->|$)/gs;

/** The heading that is the document's title: the first of the first rank, or a first one that is no usual section. */
export function titleOf(markdown: Markdown): Block | undefined {
  const first = markdown.sections[0]?.heading;
  if (first === undefined || USUAL_SECTION.test(first.text.trim())) return undefined;
  return first.depth === 1 || first === markdown.blocks[0] ? first : undefined;
}

const USUAL_SECTION =
  /^(?:status|context|decision|consequences|considered options|options|context and problem statement|decision outcome|decision drivers|problem|summary|links|background|introduction|date|proposal)\b[\s\w]{0,12}$/i;

/** What stands before the first section, the title apart. */
export function preambleOf(markdown: Markdown): Block[] {
  const title = titleOf(markdown);
  const end = markdown.sections.find(({ heading }) => heading !== title)?.heading.start ?? Infinity;
  return markdown.blocks.filter((block) => block !== title && block.start < end);
}

export function fieldsOf(source: string, markdown: Markdown): Field[] {
  return preambleOf(markdown)
    .filter((block) => block.kind === 'paragraph')
    .flatMap((block) => fieldsIn(block, source.slice(block.start, block.end)));
}

function fieldsIn(block: Block, raw: string): Field[] {
  const rawLines = raw.split(/\r\n|\r|\n/);
  const lines = linesOf(block.text);
  const labelled = lines.filter(({ label }) => label !== '').slice(0, MAX_FIELDS);
  return labelled.map((line, i) => {
    // A wrapped value goes on until the next label; a cell of a table ends with its row.
    const end = labelled[i + 1]?.from ?? block.text.length + 1;
    const to = line.cell ? line.to : end - 1;
    const content = sliceText(block, line.value, to);
    return {
      label: line.label.toLowerCase().replace(/[\s_-]+/g, ' '),
      content,
      raw: rawValue(rawLines[line.index] ?? '', line.label) || content.text,
      line: sliceText(block, line.from, to),
    };
  });
}

interface Line {
  index: number;
  from: number;
  /** Offset of the value behind the label. */
  value: number;
  to: number;
  /** As written; empty for a line without one. */
  label: string;
  cell: boolean;
}

function linesOf(text: string): Line[] {
  let from = 0;
  return text.split('\n').map((line, index) => {
    const match = LABEL.exec(line) ?? DATE_LABEL.exec(line);
    const cell = line.trimStart().startsWith('|');
    const length = cell ? line.replace(/[\s|]+$/, '').length : line.length;
    const value = from + (match?.[0].length ?? 0);
    const at = { index, from, value, to: from + length, label: match?.[1] ?? '', cell };
    from += line.length + 1;
    return at;
  });
}

/** The value in the source: what follows the label on its line, without comments. */
function rawValue(line: string, label: string): string {
  const at = line.indexOf(label);
  if (at < 0) return '';
  return line
    .slice(at + label.length)
    .replace(COMMENT, '')
    .replace(/^[\s*_:|]+|[\s|]+$/g, '');
}
