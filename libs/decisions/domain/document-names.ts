import { foldName } from '#kernel/text.js';
import {
  idAtStart,
  idOfStem,
  isRecordPrefix,
  stemOf,
  type RecordId,
} from './document-references.js';

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
  /** The title is the document's own, not made from its file name. */
  titled: boolean;
}

/** Folders that hold records everywhere and so name nothing. */
const GENERIC =
  /^(?:docs?|documentation|adrs?|rfcs?|records?|decisions?|decision-(?:records?|log)|architecture|arch|architectur(?:e|al)-decisions?(?:-records?|-log)?|design|development|src|content|pages)$/i;
const ANCHOR = /\s*\{#([\w-]+)\}\s*$/;
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
  const titled = rest !== '' && !isPlaceholder(rest);
  const space = namespaceOf(directory);
  const number = /\d{1,5}/.exec(stem)?.[0];
  const named = /^[A-Za-z]+[-_ ]?\d{1,5}/.exec(stem)?.[0];
  const identifiers = [
    ...(space === undefined ? [] : [`${space}/${ofStem === undefined ? stem : (number ?? stem)}`]),
    ...(ofStem !== undefined && ofStem.prefix !== '' && named !== undefined ? [named] : []),
    prefix,
    ...(anchor === undefined ? [] : [anchor]),
    stem,
    ...(ofStem === undefined ? [] : [number ?? '']),
  ];
  return {
    title: titled ? rest : readable(stem),
    identifiers: [...new Set(identifiers.filter((name) => name !== ''))],
    ids: [ofStem, ofTitle].filter((id) => id !== undefined),
    stem,
    directory,
    anchor,
    titled,
  };
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
  const whole: SplitTitle = { id: undefined, prefix: '', rest: title };
  const match = TITLE_ID.exec(title);
  const id = match === null ? undefined : idAtStart(title);
  if (match === null || id === undefined) return whole;
  const separator = match[3] ?? '';
  const marked = separator.trim() !== '' || separator === '';
  const same = id.number === ofStem?.number && (id.prefix === '' || id.prefix === ofStem.prefix);
  if (!(same || isIdOfTitle(id.prefix === '' ? '' : (match[1] ?? ''), match[2] ?? '', marked)))
    return whole;
  const rest = title.slice(match[0].length).trim();
  const written = match[0].slice(0, match[0].length - separator.length).replace(/^\[|\]$/g, '');
  return { id, prefix: id.prefix === '' ? '' : written, rest: rest === '' ? title : rest };
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
