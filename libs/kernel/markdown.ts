import { createRequire } from 'node:module';
import { fromMarkdown } from 'mdast-util-from-markdown';
import type * as Yaml from 'yaml';

/** A link within a block: `[from, to)` of the block's plain text. `href` is the target as written, definitions followed. */
export interface TextLink {
  href: string;
  from: number;
  to: number;
}

/** Plain text with the links in it; lines are separated by `\n`. */
export interface LinkedText {
  text: string;
  links: readonly TextLink[];
}

/** A leaf block in document order. `[start, end)` are UTF-16 offsets into the source and cover the block's own Markdown, without the marks of what contains it. */
export interface Block extends LinkedText {
  kind: 'heading' | 'paragraph' | 'code';
  start: number;
  end: number;
  /** 1..6 for a heading, else 0. */
  depth: number;
  quoted: boolean;
  /** Nesting of list items; 0 outside of lists. */
  listLevel: number;
  /** The headings this block stands under, outermost first; a heading is not under itself. */
  under: readonly Block[];
}

/** A heading and all blocks up to the next heading of the same or a higher rank, deeper headings included. */
export interface Section {
  heading: Block;
  blocks: readonly Block[];
  start: number;
  end: number;
}

export interface Markdown {
  blocks: readonly Block[];
  sections: readonly Section[];
  /** Keys in lower case with `-` between words; scalars as written, lists as their scalars. Empty when there is none. */
  frontMatter: ReadonlyMap<string, readonly string[]>;
}

/** What this module reads of an mdast node. */
interface Node {
  type: string;
  value?: string;
  alt?: string | null | undefined;
  depth?: number;
  url?: string;
  identifier?: string;
  children?: readonly Node[];
  position?:
    { start: { offset?: number | undefined }; end: { offset?: number | undefined } } | undefined;
}

const FENCE = /^(?:---|\.\.\.)[ \t]*\r?$/gm;
const MAX_FRONT_MATTER = 65_536;
/** Beyond these the parser's cost is quadratic (measured); no author writes so. */
const MAX_NESTING = 24;
const MAX_INLINE_MARKS = 400;

/**
 * Reads Markdown once: blocks, sections, links, front matter. Never throws and recurses nowhere, whatever the text is.
 * HTML and its comments are left out. Time is linear in the text: nesting beyond 24 containers a line, and inline marks in a
 * paragraph that holds more than 400 of them, are read as plain characters.
 */
export function parseMarkdown(source: string): Markdown {
  const front = frontMatterOf(source);
  // Every replacement below keeps the length, so that offsets are those of the source.
  const tree: Node = fromMarkdown(withoutTraps(doxygenReferences(front.rest)));
  const nodes = leafBlocks(tree);
  const definitions = new Map<string, string>();
  for (const { node } of nodes) {
    if (node.type === 'definition' && node.identifier !== undefined)
      definitions.set(node.identifier, definitions.get(node.identifier) ?? node.url ?? '');
  }
  const blocks = toBlocks(nodes, definitions);
  return { blocks, sections: sectionsOf(blocks, source.length), frontMatter: front.values };
}

/** The part `[from, to)` of a linked text; a link cut by the border is dropped. */
export function sliceText(whole: LinkedText, from: number, to: number): LinkedText {
  const links = whole.links
    .filter((link) => link.from >= from && link.to <= to)
    .map((link) => ({ href: link.href, from: link.from - from, to: link.to - from }));
  return { text: whole.text.slice(from, to), links };
}

interface Leaf {
  node: Node;
  quoted: boolean;
  listLevel: number;
}

const CONTAINERS = new Set(['root', 'blockquote', 'list', 'listItem']);

function leafBlocks(root: Node): Leaf[] {
  const leaves: Leaf[] = [];
  const pending: Leaf[] = [{ node: root, quoted: false, listLevel: 0 }];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const { node } = at;
    if (!CONTAINERS.has(node.type)) {
      leaves.push(at);
      continue;
    }
    const quoted = at.quoted || node.type === 'blockquote';
    const listLevel = at.listLevel + (node.type === 'listItem' ? 1 : 0);
    const children = node.children ?? [];
    for (let i = children.length - 1; i >= 0; i -= 1) {
      const child = children[i];
      if (child !== undefined) pending.push({ node: child, quoted, listLevel });
    }
  }
  return leaves;
}

function toBlocks(leaves: readonly Leaf[], definitions: ReadonlyMap<string, string>): Block[] {
  const blocks: Block[] = [];
  let under: readonly Block[] = [];
  for (const { node, quoted, listLevel } of leaves) {
    if (node.type !== 'heading' && node.type !== 'paragraph' && node.type !== 'code') continue;
    const depth = node.depth ?? 0;
    // A heading inside of a quote or a list divides nothing.
    const divides = node.type === 'heading' && !quoted && listLevel === 0;
    if (divides) under = under.filter((heading) => heading.depth < depth);
    const block: Block = {
      kind: node.type,
      ...inlineText(node, definitions),
      ...placeOf(node),
      depth,
      quoted,
      listLevel,
      under,
    };
    blocks.push(block);
    if (divides) under = [...under, block];
  }
  return blocks;
}

function placeOf({ position }: Node): { start: number; end: number } {
  return { start: position?.start.offset ?? 0, end: position?.end.offset ?? 0 };
}

function inlineText(block: Node, definitions: ReadonlyMap<string, string>): LinkedText {
  let text = '';
  const links: TextLink[] = [];
  const pending: (Node | { href: string; from: number })[] = [block];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if ('href' in at) {
      links.push({ href: at.href, from: at.from, to: text.length });
      continue;
    }
    text += ownText(at);
    const href = hrefOf(at, definitions);
    if (href !== undefined) pending.push({ href, from: text.length });
    const children = at.children ?? [];
    for (let i = children.length - 1; i >= 0; i -= 1) {
      const child = children[i];
      if (child !== undefined) pending.push(child);
    }
  }
  return { text: text.trimEnd(), links };
}

function ownText(node: Node): string {
  if (node.type === 'html') return '';
  if (node.type === 'break') return '\n';
  return (node.value ?? node.alt ?? '').replace(/\r\n?/g, '\n');
}

function hrefOf(node: Node, definitions: ReadonlyMap<string, string>): string | undefined {
  if (node.type === 'link') return node.url ?? '';
  if (node.type === 'linkReference') return definitions.get(node.identifier ?? '') ?? '';
  return undefined;
}

function sectionsOf(blocks: readonly Block[], end: number): Section[] {
  const sections: Section[] = [];
  const open: { heading: Block; first: number }[] = [];
  const close = (depth: number, until: number, offset: number): void => {
    for (
      let last = open.at(-1);
      last !== undefined && last.heading.depth >= depth;
      last = open.at(-1)
    ) {
      open.pop();
      const { heading, first } = last;
      sections.push({
        heading,
        blocks: blocks.slice(first, until),
        start: heading.start,
        end: offset,
      });
    }
  };
  blocks.forEach((block, i) => {
    if (block.kind !== 'heading' || block.quoted || block.listLevel > 0) return;
    close(block.depth, i, block.start);
    open.push({ heading: block, first: i + 1 });
  });
  close(0, blocks.length, end);
  return sections.sort((a, b) => a.start - b.start);
}

// Front matter

function frontMatterOf(source: string): { rest: string; values: Map<string, readonly string[]> } {
  const text = source.startsWith('\uFEFF') ? ` ${source.slice(1)}` : source;
  const opening = /^ ?---[ \t]*\r?\n/.exec(text);
  const none = { rest: text, values: new Map<string, readonly string[]>() };
  if (opening === null) return none;
  FENCE.lastIndex = opening[0].length;
  const closing = FENCE.exec(text);
  if (closing === null || closing.index > MAX_FRONT_MATTER) return none;
  const values = frontMatterValues(text.slice(opening[0].length, closing.index));
  if (values === undefined) return none;
  const end = closing.index + closing[0].length;
  return { rest: text.slice(0, end).replace(/[^\r\n]/g, ' ') + text.slice(end), values };
}

function frontMatterValues(yaml: string): Map<string, readonly string[]> | undefined {
  let read: unknown;
  try {
    const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml;
    read = parse(yaml, { logLevel: 'error', mapAsMap: true, schema: 'failsafe' });
  } catch {
    // People write `title: ADR 5: Use x`, which YAML refuses; the lines still say what they say.
    const lines = yaml.matchAll(/^([A-Za-z][\w -]*):[ \t]*(["']?)(\S.*)\2[ \t]*$/gm);
    read = new Map([...lines].map((line) => [line[1], line[3]]));
  }
  if (!(read instanceof Map) || read.size === 0) return undefined;
  const values = new Map<string, readonly string[]>();
  for (const [key, value] of read as Map<unknown, unknown>) {
    if (typeof key === 'string') values.set(frontMatterKey(key), scalars(value));
  }
  return values;
}

function frontMatterKey(key: string): string {
  return key
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[\s_]+/g, '-');
}

function scalars(value: unknown): string[] {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((one): one is string => typeof one === 'string').map((one) => one.trim());
}

// What the parser must not see

/** Doxygen writes `[text](@ref anchor)` and `[label]: @ref anchor`, which CommonMark reads as plain text: `@ref/anchor` it reads as a target. */
function doxygenReferences(text: string): string {
  return text.replace(/(\]\(|\]:[ \t]*)@ref[ \t](?=\S)/g, '$1@ref/');
}

const NEW_PARAGRAPH = /^ {0,3}(?:[-+*]|#{1,6})[ \t]+\S/;
const INLINE_MARK = /[[\]*_<`!&\\]/g;

function withoutTraps(text: string): string {
  const lines = (text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []).map(shallow);
  let first = 0;
  let marks = 0;
  const flatten = (until: number): void => {
    if (marks <= MAX_INLINE_MARKS) return;
    for (let i = first; i < until; i += 1) lines[i] = lines[i]?.replace(INLINE_MARK, '.') ?? '';
  };
  lines.forEach((line, i) => {
    if (line.trim() === '' || NEW_PARAGRAPH.test(line)) {
      flatten(i);
      first = i;
      marks = 0;
    }
    marks += line.match(INLINE_MARK)?.length ?? 0;
  });
  flatten(lines.length);
  return lines.join('');
}

const LEADING_MARKS = /^[ \t>*+\-0-9.)]*/;
const CONTAINER_MARK = />|(?:[-+*]|\d{1,9}[.)])(?=[ \t])/g;

/** Ends the run of container marks at a line's begin after `MAX_NESTING` of them. */
function shallow(line: string): string {
  const run = LEADING_MARKS.exec(line)?.[0] ?? '';
  if (run.length <= MAX_NESTING) return line;
  let count = 0;
  for (const mark of run.matchAll(CONTAINER_MARK)) {
    count += 1;
    if (count > MAX_NESTING)
      return `${line.slice(0, mark.index)}${'x'.repeat(mark[0].length)}${line.slice(mark.index + mark[0].length)}`;
  }
  return line;
}
