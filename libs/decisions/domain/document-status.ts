import {
  parseMarkdown,
  sliceText,
  type Block,
  type LinkedText,
  type Markdown,
} from '#kernel/markdown.js';
import type { Field } from './document-fields.js';
import { clipped, STRUCK } from './document-text.js';
import type { DocumentStatus } from './document-types.js';

/** A piece of a status as it stands in the document. */
interface StatusText {
  content: LinkedText;
  /** As written, Markdown included. */
  raw: string;
}

export interface StatusReading {
  status: DocumentStatus;
  statusText: string;
  /** Everything the status says, for what it says about succession; empty when the status only lists what might be said. */
  texts: LinkedText[];
  problem?: 'ambiguous_status' | 'unrecognised_status';
}

const LONGEST_STATUS = 500;
const SECTION = /^(?:(?:adr|decision|document|current|record) )?status(?:es)?$/i;
const IN_HEADING = /^(?:(?:adr|decision|document|current|record) )?status\s*[:–—-]\s*(?=\S)/i;
const FIELD = /^(?:(?:adr|decision|document|current|record) )?status$/;

const WORDS: readonly [RegExp, DocumentStatus][] = [
  [
    /(?:partially|partly) (?:super(?:s|c|sc)eded|replaced|obsoleted)|super(?:s|c|sc)eded in part/,
    'accepted',
  ],
  [/super(?:s|c|sc)eded|replaced|obsoleted/, 'superseded'],
  [
    /accepted|approved|adopted|agreed|decided|ratified|amended|active|final|provisional/,
    'accepted',
  ],
  [
    /proposed|pending|(?:in|under) (?:review|discussion)|deferred|postponed|experimental/,
    'proposed',
  ],
  [/rejected|declined|withdrawn|retracted/, 'rejected'],
  [/deprecated|obsolete|retired/, 'deprecated'],
  [/draft|wip|work in progress/, 'draft'],
];
const WORD = new RegExp(`(?:${WORDS.map(([word]) => `(${word.source})`).join('|')})\\b`, 'iy');
const LEAD =
  /^[^\p{L}\p{N}]*(?:\d{4}-\d{2}-\d{2}[\s:,-]*)?(?:(?:this (?:adr|decision|record|document)|has been|have been|is|was|now|currently|since|been)\s+)*/iu;
const JOINT =
  /[\s"'”’*]*(\||\/|[,;.:(–—→➡⇒-]|->|=>|\b(?:or|and|then|now|but)\b)(?:[\s"'“‘*]|\uFE0F|(?:now|then|but|and|since|later|is|was|has been)\b)*/iy;
const RELATION =
  /^[^\p{L}\p{N}]*(?:refine|extend|relate|clarif|amend|super[sc]+ede|replace|obsolete|depend|complement|follow)/iu;

/** How far a decision has come; only a later stage can follow an earlier one. */
const STAGE: Record<DocumentStatus, number> = {
  unstated: 0,
  unrecognised: 0,
  draft: 1,
  proposed: 2,
  accepted: 3,
  rejected: 3,
  deprecated: 4,
  superseded: 5,
};

/** Reads the status from front matter, a field at the top or a section; where they disagree, none is chosen. */
export function statusOf(
  source: string,
  markdown: Markdown,
  fields: readonly Field[],
): StatusReading {
  const pieces = [
    ...ofFrontMatter(markdown),
    ...fields
      .filter((field) => FIELD.test(field.label))
      .map(({ content, raw }) => ({ content, raw })),
    ...ofSection(source, markdown),
  ].filter(({ content }) => /\S/.test(content.text));
  const first = pieces[0];
  if (first === undefined) return { status: 'unstated', statusText: '', texts: [] };
  const texts = pieces.map(({ content }) => content);
  const status = combined(texts);
  if (status === 'several')
    return {
      status: 'unrecognised',
      statusText: clipped(first.raw, LONGEST_STATUS),
      texts: [],
      problem: 'ambiguous_status',
    };
  if (status !== undefined)
    return { status, statusText: clipped(first.raw, LONGEST_STATUS), texts };
  if (RELATION.test(first.content.text))
    return { status: 'unstated', statusText: clipped(first.raw, LONGEST_STATUS), texts };
  return {
    status: 'unrecognised',
    statusText: clipped(first.raw, LONGEST_STATUS),
    texts,
    problem: 'unrecognised_status',
  };
}

/** The section that holds the status, where there is one. */
export function isStatusHeading(block: Block): boolean {
  return block.kind === 'heading' && (SECTION.test(heading(block)) || IN_HEADING.test(block.text));
}

function ofFrontMatter(markdown: Markdown): StatusText[] {
  const values = markdown.frontMatter.get('status') ?? [];
  return values.flatMap((raw) => parseMarkdown(raw).blocks.map((content) => ({ content, raw })));
}

function ofSection(source: string, markdown: Markdown): StatusText[] {
  const section = markdown.sections.find(({ heading: at }) => isStatusHeading(at));
  if (section === undefined) return [];
  const title = section.heading;
  const inline = IN_HEADING.exec(title.text)?.[0].length;
  const own =
    inline === undefined
      ? []
      : [{ content: sliceText(title, inline, title.text.length), raw: title.text.slice(inline) }];
  const direct = section.blocks.filter(
    ({ kind, under }) => kind === 'paragraph' && under.at(-1) === title,
  );
  return [
    ...own,
    ...direct.map((block) => ({
      content: block,
      raw: source.slice(block.start, block.end).trim(),
    })),
  ];
}

function heading(block: Block): string {
  return block.text.trim().replace(/:$/, '');
}

type Stated = DocumentStatus | 'several' | undefined;

function combined(texts: readonly LinkedText[]): Stated {
  let status: Stated;
  for (const line of texts.flatMap(({ text }) => statusLines(text.replace(STRUCK, '')))) {
    const said = statusOfLine(line);
    if (said === undefined || said === status) continue;
    if (said === 'several') return status ?? 'several';
    if (status === undefined) status = said;
    else if (isNote(line, said)) continue;
    else if (STAGE[said] > STAGE[status as DocumentStatus]) status = said;
    else return 'several';
  }
  return status;
}

/** The first line, and each further one that begins like a statement of its own. */
function statusLines(text: string): string[] {
  return text
    .split('\n')
    .filter((line, i) => i === 0 || /^[^\p{L}\p{N}]*(?:\p{Lu}|\d{4}-)/u.test(line));
}

/** "Approved by Jane", "Proposed by the team" after the status is a remark about a person. */
function isNote(line: string, said: DocumentStatus): boolean {
  return STAGE[said] <= 3 && /^\W*\w+\s+(?:by|in|on|at|as)\b/.test(line);
}

function statusOfLine(line: string): Stated {
  const { found, alternatives } = wordsOf(line);
  const [earlier, later, ...more] = new Set(found);
  if (earlier === undefined || later === undefined) return earlier;
  if (alternatives || more.length > 0) return 'several';
  return STAGE[later] > STAGE[earlier] ? later : 'several';
}

/** The words for a status that a line begins with, and whether they are there to choose from. */
function wordsOf(line: string): { found: DocumentStatus[]; alternatives: boolean } {
  const found: DocumentStatus[] = [];
  let alternatives = false;
  let at = LEAD.exec(line)?.[0].length ?? 0;
  for (let word = wordAt(line, at); word !== undefined; word = wordAt(line, at)) {
    found.push(word.status);
    JOINT.lastIndex = word.end;
    const joint = JOINT.exec(line);
    if (joint === null) break;
    alternatives ||= found.length > 2 || /^(?:\||\/|or)$/i.test(joint[1] ?? '');
    at = JOINT.lastIndex;
  }
  return { found, alternatives };
}

function wordAt(line: string, at: number): { status: DocumentStatus; end: number } | undefined {
  WORD.lastIndex = at;
  const match = WORD.exec(line);
  if (match === null) return undefined;
  const index = match.slice(1).findIndex((group) => group !== undefined);
  const status = WORDS[index]?.[1];
  return status === undefined ? undefined : { status, end: WORD.lastIndex };
}
