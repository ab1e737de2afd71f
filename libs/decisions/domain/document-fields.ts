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
  const fields: Field[] = [];
  const lines = linesOf(block.text);
  const rawLines = raw.split(/\r\n|\r|\n/);
  for (let i = 0; i < lines.length && fields.length < MAX_FIELDS; i += 1) {
    const from = lines[i]?.from ?? 0;
    const text = block.text.slice(from, lines[i]?.to);
    const match = LABEL.exec(text) ?? DATE_LABEL.exec(text);
    if (match === null) continue;
    const label = match[1] ?? '';
    const table = text.trimStart().startsWith('|');
    let last = i;
    // A wrapped value goes on until the next label.
    while (!table && last + 1 < lines.length && !isLabelled(block.text, lines[last + 1])) last += 1;
    const end = lines[last]?.to ?? block.text.length;
    const to = table ? from + text.replace(/[\s|]+$/, '').length : end;
    const content = sliceText(block, from + match[0].length, to);
    const written = rawValue(rawLines[i] ?? '', label);
    fields.push({
      label: label.toLowerCase().replace(/[\s_-]+/g, ' '),
      content,
      raw: written === '' ? content.text : written,
      line: sliceText(block, from, to),
    });
    i = last;
  }
  return fields;
}

interface Line {
  from: number;
  to: number;
}

function linesOf(text: string): Line[] {
  let from = 0;
  return text.split('\n').map((line) => {
    const at = { from, to: from + line.length };
    from = at.to + 1;
    return at;
  });
}

function isLabelled(text: string, line: Line | undefined): boolean {
  return line !== undefined && LABEL.test(text.slice(line.from, line.to));
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
