import type { LinkedText } from '#kernel/markdown.js';

/** A record's number as people write it: `ADR-0025` is `{ prefix: 'adr', number: '25' }`; a bare or merely worded number has no prefix. */
export interface RecordId {
  prefix: string;
  number: string;
}

/** A place in a text that may name a record. `[from, to)` are offsets into the text. */
export interface Mention {
  label: string;
  /** The target of a link, or a file name written out. */
  href?: string;
  id?: RecordId;
  from: number;
  to: number;
}

/** Stand in for the text of a link in a masked text: its first unit, and each further one. */
export const LINK = '\uE000';
const INSIDE = '\uE001';

const PREFIX = 'm?adrs?|[pdets]?dr|ad|add|rfc|pep|xep|dec';
const WORDED =
  '(?:(?:architectur(?:e|al)|design) )?(?:decision record|decision|record)s?(?: (?:no\\.?|number))?';
const KNOWN = new RegExp(`^(?:${PREFIX})$`, 'i');
const FILE_NAME = String.raw`[\w./-]*\w\.(?:md|markdown|mdx)\b|\b\d{3,8}[-_][A-Za-z][\w-]*`;
const NUMBERED = String.raw`\b(?:${PREFIX}|${WORDED})[ \u00a0_-]?#?[ \u00a0]?0*\d{1,5}\b(?![.,]?\d)`;
const JOINED = String.raw`\b[A-Z]{1,5}-?\d{1,5}\b(?![.,]?\d)`;
const WORDS = new RegExp(`^${WORDED}$`);
const ID_AT_START =
  /^[\s[(#"'“‘`*]*(?:([A-Za-z]+(?: [A-Za-z.]+){0,3}?)[ \u00a0_-]?#?[ \u00a0]?)?0*(\d{1,5})(?=$|[^\w]|_)/;
/** Two expressions and no `(?i:…)` in one: V8 was seen to lose matches of such a group, for a whole process at a time. */
const BARE_IN_ANY_CASE = new RegExp(`https?://[^\\s)>\\]]+|${FILE_NAME}|${NUMBERED}`, 'gi');
const BARE_IN_CAPITALS = new RegExp(JOINED, 'g');

/** Whether this prefix means a record wherever it is written, as `S` in `S3` does not. */
export function isRecordPrefix(prefix: string): boolean {
  return KNOWN.test(prefix);
}

/** The id a text begins with: a link's label, a title, a written reference. */
export function idAtStart(text: string): RecordId | undefined {
  const match = ID_AT_START.exec(text.slice(0, 80));
  if (match === null) return undefined;
  const prefix = (match[1] ?? '').toLowerCase();
  const number = match[2] ?? '';
  if (WORDS.test(prefix)) return { prefix: '', number };
  return prefix.includes(' ') ? undefined : { prefix, number };
}

/** The id in a file's name (`ADR025-remove-x`, `0009_read_models`, `D1`); a leading date is none. */
export function idOfStem(stem: string): RecordId | undefined {
  const match = /^(?:([A-Za-z]+)([-_ ]?))?0*(\d{1,5})(?=[-_. ]|$)/.exec(stem);
  if (match === null) return undefined;
  const prefix = match[1] ?? '';
  const whole = match[0].length === stem.length;
  const coined = /^[A-Z]+$/.test(prefix) && match[2] === '' && /\d{3}$/.test(match[0]);
  if (prefix !== '' && !KNOWN.test(prefix) && !whole && !coined) return undefined;
  return { prefix: prefix.toLowerCase(), number: match[3] ?? '' };
}

/** Last part of a path without its extension. */
export function stemOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name.replace(/\.[A-Za-z]{1,8}$/, '');
}

/** The text with every link reduced to one mark, so that nothing in a link's words is read as a sentence. Offsets stay. */
export function masked({ text, links }: LinkedText): string {
  let result = '';
  let at = 0;
  for (const { from, to } of [...links].sort((a, b) => a.from - b.from)) {
    if (from < at || to <= from) continue;
    result += text.slice(at, from) + LINK + INSIDE.repeat(to - from - 1);
    at = to;
  }
  return result + text.slice(at);
}

/** All mentions in order. Which of them name a record is settled by the set. */
export function mentionsIn(whole: LinkedText): Mention[] {
  const mentions: Mention[] = whole.links
    .filter((link) => link.to > link.from)
    .map(({ href, from, to }) => mention(whole.text.slice(from, to), from, to, href));
  for (const { 0: written, index } of bareIn(masked(whole))) {
    const label = written.replace(/[.,;:]+$/, '');
    const named = /[./]|^\d+[-_]/.test(label);
    mentions.push(mention(label, index, index + label.length, named ? label : undefined));
  }
  return mentions.sort((a, b) => a.from - b.from);
}

/** Matches of either expression from left to right, none overlapping the one before. */
function* bareIn(text: string): Generator<RegExpExecArray> {
  let [any, capitals] = [from(BARE_IN_ANY_CASE, text, 0), from(BARE_IN_CAPITALS, text, 0)];
  for (;;) {
    const next = any && (!capitals || any.index <= capitals.index) ? any : capitals;
    if (!next) return;
    yield next;
    const end = next.index + next[0].length;
    if (any && any.index < end) any = from(BARE_IN_ANY_CASE, text, end);
    if (capitals && capitals.index < end) capitals = from(BARE_IN_CAPITALS, text, end);
  }
}

function from(expression: RegExp, text: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at;
  return expression.exec(text) ?? undefined;
}

/** A mention of a reference given as data, such as a list in front matter. */
export function mentionOf(written: string): Mention {
  const named = /[/]|\.\w+$|^\d{3,8}[-_][A-Za-z]/.test(written);
  return mention(written, 0, written.length, named ? written : undefined);
}

function mention(label: string, from: number, to: number, href: string | undefined): Mention {
  const id = idAtStart(label);
  return {
    label,
    from,
    to,
    ...(href === undefined ? {} : { href }),
    ...(id === undefined ? {} : { id }),
  };
}
