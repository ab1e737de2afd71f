import { foldName } from '#kernel/text.js';
import {
  idAtStart,
  idOfStem,
  isRecordPrefix,
  stemOf,
  type RecordId,
} from './document-references.js';
import { clipped } from './document-text.js';

/** What a document is called, and where. */
export interface Names {
  title: string;
  identifiers: string[];
  /** Ids that the file name and the title give; they may differ. */
  ids: RecordId[];
  stem: string;
  directory: string;
  /** Doxygen's `{#anchor}` of the heading. */
  anchor: string | undefined;
}

/** Folders that hold records everywhere and so name nothing. */
const GENERIC =
  /^(?:docs?|documentation|adrs?|rfcs?|records?|decisions?|decision-(?:records?|log)|architecture|arch|architectur(?:e|al)-decisions?(?:-records?|-log)?|design|development|src|content|pages)$/i;
const ANCHOR = /\s*\{#([\w-]{1,100})\}\s*$/;
const LONGEST_TITLE = 300;
const TITLE_ID =
  /^\[?(?:([A-Za-z]+)[ _-]?#?|(?:decision(?: record)?) #?)?0*(\d{1,5})\]?(\s*[:.)–—]+(?!\d)\s*|\s+-\s+|\s+|$)/i;
const TEMPLATE_ID = /^(?:[A-Za-z]+[ _-]?)?(?:x{2,}|n{1,4}|z{2,}|\{[^}]*\}|number)\s*[:.)]\s*/i;

/** Names of the document at `path` whose first heading is `heading`; `isPlaceholder` knows titles that a template left behind. */
export function namesOf(
  path: string,
  heading: string | undefined,
  isPlaceholder: (text: string) => boolean,
): Names {
  const stem = stemOf(path);
  const directory = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  const ofStem = idOfStem(stem);
  const written = (heading ?? '').replace(/\s+/g, ' ').trim();
  const anchor = ANCHOR.exec(written)?.[1];
  const { id: ofTitle, prefix, rest } = splitTitle(written.replace(ANCHOR, ''), ofStem);
  return {
    title: rest === '' || isPlaceholder(rest) ? readable(stem) : clipped(rest, LONGEST_TITLE),
    identifiers: identifiersOf(stem, directory, prefix, anchor),
    ids: [ofStem, ofTitle].filter((id) => id !== undefined),
    stem,
    directory,
    anchor,
  };
}

function identifiersOf(
  stem: string,
  directory: string,
  ofTitle: string,
  anchor: string | undefined,
): string[] {
  const id = idOfStem(stem);
  const number = id === undefined ? '' : (/\d{1,5}/.exec(stem)?.[0] ?? '');
  const coined = id === undefined || id.prefix === '' ? '' : (/^\D+\d{1,5}/.exec(stem)?.[0] ?? '');
  const space = namespaceOf(directory);
  const spaced = space === undefined ? '' : `${space}/${number === '' ? stem : number}`;
  const names = [spaced, coined, ofTitle, anchor ?? '', stem, number];
  return [...new Set(names.filter((name) => name !== ''))];
}

/** A title without the id in front of it, be it a record's or a template's; empty where nothing else is left. */
export function bareTitle(heading: string): string {
  const written = heading.replace(/\s+/g, ' ').trim().replace(ANCHOR, '');
  return splitTitle(written.replace(TEMPLATE_ID, ''), undefined).rest;
}

/** Key under which texts of a template are recognised in the records made from it. */
export function placeholderKey(text: string): string {
  return foldName(text.replace(/[\s*_`>]+/g, ' '));
}

interface SplitTitle {
  id: RecordId | undefined;
  /** The id as written, without a number's bare form: `ADR025`. */
  prefix: string;
  rest: string;
}

function splitTitle(title: string, ofStem: RecordId | undefined): SplitTitle {
  const match = TITLE_ID.exec(title);
  const id = match === null ? undefined : idAtStart(title);
  if (match === null || id === undefined) return { id: undefined, prefix: '', rest: title };
  const [head, word = '', number = '', separator = ''] = match;
  const prefix = id.prefix === '' ? '' : word;
  const marked = /^$|\S/.test(separator);
  if (!isSame(id, ofStem) && !isIdOfTitle(prefix, number, marked))
    return { id: undefined, prefix: '', rest: title };
  const own = head.slice(0, head.length - separator.length).replace(/^\[|\]$/g, '');
  return { id, prefix: prefix === '' ? '' : own, rest: title.slice(head.length).trim() || title };
}

/** The title begins with the number that the file name has too. */
function isSame(id: RecordId, ofStem: RecordId | undefined): boolean {
  return id.number === ofStem?.number && (id.prefix === '' || id.prefix === ofStem.prefix);
}

/** `ADR 5`, `5.`, `ADD037:` begin a title with an id; `5 reasons` and `S3: use it` do not. */
function isIdOfTitle(prefix: string, number: string, marked: boolean): boolean {
  if (prefix === '') return marked;
  return isRecordPrefix(prefix) || (marked && /^[A-Z]{2,5}$/.test(prefix) && number.length >= 2);
}

function namespaceOf(directory: string): string | undefined {
  return directory.split('/').findLast((part) => part !== '' && !GENERIC.test(part));
}

function readable(stem: string): string {
  const id = idOfStem(stem);
  const words = stem
    .replace(id === undefined ? /^\d{8}[-_ ]/ : /^[A-Za-z]*[-_ ]?\d{1,5}[-_. ]?/, '')
    .replace(/[-_]+/g, ' ')
    .trim();
  const text = words === '' ? stem : words;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
