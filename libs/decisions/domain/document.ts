import { parseMarkdown, type Block, type Markdown } from '#kernel/markdown.js';
import { parseWrittenDate } from '#kernel/written-date.js';
import { fieldsOf, titleOf, type Field } from './document-fields.js';
import { namesOf, placeholderKey, bareTitle, type Names } from './document-names.js';
import { decisionQuote, decisionTexts, hasDecisionPlace } from './document-quote.js';
import { idOfStem, isRecordPrefix, stemOf, type Mention } from './document-references.js';
import {
  referencesIn,
  successionField,
  successionIn,
  type Context,
  type Statement,
  type Succession,
} from './document-statements.js';
import { isStatusHeading, statusOf, type StatusReading } from './document-status.js';
import { clipped, shown } from './document-text.js';
import type { DecisionDocument, DocumentFile, Finding } from './document-types.js';

/** A document as its own text gives it, before the set settles what its references mean. */
export interface ReadDocument {
  document: DecisionDocument;
  names: Names;
  statements: Statement[];
  unclear: Mention[][];
  /** Targets of all links anywhere in the text. */
  hrefs: string[];
  findings: Finding[];
}

export type OpenedDocument =
  | { path: string; skipped: string; template?: Markdown }
  | { path: string; text: string; markdown: Markdown; fields: Field[]; status: StatusReading };

/** Longer is no decision record; bounds the time one file can take. */
const LONGEST_DOCUMENT = 262_144;
const LONGEST_NAME = 200;
const MOST_DECIDERS = 100;
const MARKDOWN = /\.(?:md|markdown|mdown|mkd|mdx|txt)$/i;
const NAMED_TEMPLATE =
  /(?:^|[-_. ])templates?$|^template\b|^[A-Za-z]*[-_]?(?:x{2,}|n{3,}|z{2,})(?=[-_.]|$)/i;
const UNFILLED = /^[[{<].*[\]}>]$/s;
const LINK_SECTION =
  /^(?:links?|more information|related\b.*|references?|see also|relations?(?:hips?)?|supersession|history)\s*$/i;
const OPTION_SECTION = /\b(?:options?|alternatives?|pros and cons|considered)\b/i;
const DATE_LABEL =
  /^(?:date|decided(?: on)?|decision date|date (?:decided|of decision)|decided at)$/;
const DECIDERS_LABEL = /^(?:deciders?|decision makers?|decided by)$/;
const RELATION_LABEL =
  /^(?:partially |partly )?(?:super[sc]+ede[sd]|obsolete[sd]|replace[sd]|amend(?:s|ed))(?: by)?$/;

/** Parses one file, or tells in a stable word why it is no decision record. */
export function openDocument({ path, text }: DocumentFile): OpenedDocument {
  const refused = refusedBeforeReading(path, text);
  if (refused !== undefined) return { path, skipped: refused };
  const markdown = parseMarkdown(text);
  const fields = fieldsOf(text, markdown);
  const status = statusOf(text, markdown, fields);
  if (isTemplate(path, markdown, status)) return { path, skipped: 'template', template: markdown };
  if (markdown.blocks.length === 0 && status.status === 'unstated')
    return { path, skipped: 'empty' };
  if (status.statusText === '' && !hasDecisionPlace(markdown))
    return { path, skipped: 'not_a_decision: no status and no decision section' };
  return { path, text, markdown, fields, status };
}

/** Titles and decisions that a template asks for, in the form `readDocument` recognises. */
export function placeholdersOf(template: Markdown): string[] {
  const title = titleOf(template)?.text ?? '';
  return [bareTitle(title), ...decisionTexts(template)]
    .map(placeholderKey)
    .filter((key) => key.length > 7);
}

/** Reads an opened decision record. `placeholders` are texts that templates of the same folder left in it. */
export function readDocument(
  opened: Exclude<OpenedDocument, { skipped: string }>,
  placeholders: ReadonlySet<string>,
): ReadDocument {
  const { path, text, markdown, fields, status } = opened;
  const isPlaceholder = (words: string): boolean =>
    UNFILLED.test(words.trim()) || placeholders.has(placeholderKey(words));
  const heading = titleOf(markdown)?.text ?? markdown.frontMatter.get('title')?.[0];
  const names = namesOf(path, heading, isPlaceholder);
  const date = dateOf(path, markdown, fields);
  const decision = decisionQuote(text, markdown, isPlaceholder);
  const succession = successionOf(opened, names);
  return {
    document: {
      path,
      title: names.title,
      identifiers: names.identifiers,
      status: status.status,
      statusText: status.statusText,
      ...date.values,
      deciders: decidersOf(markdown, fields),
      ...(decision === undefined ? {} : { decision }),
    },
    names,
    ...succession,
    hrefs: [...new Set(markdown.blocks.flatMap(({ links }) => links.map(({ href }) => href)))],
    findings: [...statusFindings(path, status), ...date.findings],
  };
}

function refusedBeforeReading(path: string, text: string): string | undefined {
  if (!MARKDOWN.test(path)) return 'not_markdown';
  if (text.length > LONGEST_DOCUMENT) return `too_large: over ${LONGEST_DOCUMENT} characters`;
  if (!/[^\s\uFEFF\0]/.test(text)) return 'empty';
  const stem = stemOf(path);
  if (/^readme$/i.test(stem)) return 'readme';
  return /^_?(?:index|toc|summary)$/i.test(stem) ? 'index' : undefined;
}

/** Named like one and not filled in like a numbered record, or with a title still in brackets. */
function isTemplate(path: string, markdown: Markdown, { status }: StatusReading): boolean {
  const stem = stemOf(path);
  const filled = status !== 'unstated' && status !== 'unrecognised';
  if (NAMED_TEMPLATE.test(stem)) return !(filled && idOfStem(stem) !== undefined);
  return !filled && UNFILLED.test(titleOf(markdown)?.text.trim() ?? '');
}

function statusFindings(path: string, { problem, statusText }: StatusReading): Finding[] {
  if (problem === undefined) return [];
  const why = problem === 'ambiguous_status' ? 'names several statuses' : 'is no status known here';
  return [{ kind: problem, documents: [path], detail: `status "${shown(statusText)}" ${why}` }];
}

interface DateReading {
  values: { decidedOn?: string; decidedOnText?: string };
  findings: Finding[];
}

function dateOf(path: string, markdown: Markdown, fields: readonly Field[]): DateReading {
  const inFront = [...markdown.frontMatter].find(([key]) =>
    DATE_LABEL.test(key.replaceAll('-', ' ')),
  );
  const field = fields.find(({ label }) => DATE_LABEL.test(label));
  const section = markdown.sections.find(({ heading }) =>
    /^(?:date|decided on)$/i.test(heading.text),
  );
  const written = inFront?.[1][0] ?? field?.content.text ?? section?.blocks[0]?.text ?? '';
  const text = clipped((written.split('\n')[0] ?? '').trim(), LONGEST_NAME);
  const date = parseWrittenDate(text);
  if (date === undefined) return { values: {}, findings: [] };
  if ('iso' in date) return { values: { decidedOn: date.iso, decidedOnText: text }, findings: [] };
  const detail = `date "${shown(text)}" ${date.problem}`;
  return {
    values: { decidedOnText: text },
    findings: [{ kind: 'unreadable_date', documents: [path], detail }],
  };
}

function decidersOf(markdown: Markdown, fields: readonly Field[]): string[] {
  const inFront = [...markdown.frontMatter]
    .filter(([key]) => DECIDERS_LABEL.test(key.replaceAll('-', ' ')))
    .flatMap(([, values]) => values);
  const inFields = fields
    .filter(({ label }) => DECIDERS_LABEL.test(label))
    .map(({ content }) => content.text);
  const names = [...inFront, ...inFields]
    .filter((value) => !UNFILLED.test(value.trim()))
    .flatMap((value) => value.split(/[,;&\n]/))
    .map((name) => clipped(name.trim(), LONGEST_NAME));
  return [...new Set(names.filter((name) => /[\p{L}\p{N}]/u.test(name)))].slice(0, MOST_DECIDERS);
}

function successionOf(
  { markdown, fields, status }: Exclude<OpenedDocument, { skipped: string }>,
  names: Names,
): Succession {
  const title = titleOf(markdown);
  const isSelf = (mention: Mention): boolean => namesItself(mention, names);
  const parts = [
    ...status.texts.map((text) => successionIn(text, 'status', isSelf)),
    ...fields
      .filter(({ label }) => RELATION_LABEL.test(label))
      .map((field) => ofRelationField(field, isSelf)),
    ...markdown.blocks.map((block) => {
      const context = contextOf(block, title);
      return context === undefined
        ? { statements: [], unclear: [] }
        : successionIn(block, context, isSelf);
    }),
  ];
  const inFront = [...markdown.frontMatter].flatMap(([key, values]) =>
    successionField(key, values),
  );
  return {
    statements: [...inFront, ...parts.flatMap(({ statements }) => statements)],
    unclear: parts.flatMap(({ unclear }) => unclear),
  };
}

function ofRelationField(
  { label, content, line }: Field,
  isSelf: (mention: Mention) => boolean,
): Succession {
  const references = content.links.length === 0 ? referencesIn(content.text) : undefined;
  if (references === undefined) return successionIn(line, 'status', isSelf);
  return { statements: successionField(label.replaceAll(' ', '-'), references), unclear: [] };
}

/** How far a block can be taken at its word; `undefined` for quotes, options that were weighed, and the status, which is read apart. */
function contextOf(block: Block, title: Block | undefined): Context | undefined {
  if (block.kind !== 'paragraph' || block.quoted) return undefined;
  const sections = block.under.filter((heading) => heading !== title);
  const nearest = sections.at(-1);
  if (nearest !== undefined && isStatusHeading(nearest)) return undefined;
  if (sections.some(({ text }) => OPTION_SECTION.test(text))) return undefined;
  return sections.some(({ text }) => LINK_SECTION.test(text.trim())) ? 'links' : 'prose';
}

function namesItself({ id, href }: Mention, names: Names): boolean {
  if (href !== undefined) return stemOf(href.replace(/[?#].*$/, '')) === names.stem;
  return names.ids.some(
    (own) =>
      id?.number === own.number &&
      (id.prefix === own.prefix || (own.prefix === '' && isRecordPrefix(id.prefix))),
  );
}
