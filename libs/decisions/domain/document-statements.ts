import type { LinkedText } from '#kernel/markdown.js';
import {
  AUXILIARY,
  BECAME,
  BETWEEN_OBJECTS,
  BY_THIS,
  CLAUSE,
  CONTINUED,
  DECLARED,
  DENIED,
  FILLER,
  HAS_VERB,
  kindOf,
  PASSIVE,
  sentencesOf,
  SOME_OF,
  STANDS,
  STATUS_ONLY,
  THIS,
  verbsIn,
  type Verb,
} from './document-grammar.js';
import { LINK, masked, mentionOf, mentionsIn, type Mention } from './document-references.js';
import { STRUCK } from './document-text.js';
import type { LinkKind } from './document-types.js';

/** Where a text stands: a field that only holds references, a status, an item of a list of links, or anywhere else. */
export type Context = 'field' | 'status' | 'links' | 'prose';

/** "This document supersedes (or is superseded by, amends …) that one." */
export interface Statement {
  kind: LinkKind;
  /** The side of the link that this document is. */
  self: 'newer' | 'older';
  other: Mention;
  context: Context;
}

export interface Succession {
  statements: Statement[];
  /** "Superseded" beside several references, none of which is said to be the successor. */
  unclear: Mention[][];
}

type IsSelf = (mention: Mention) => boolean;

const LONGEST_GAP = 80;
/** Nobody states a succession in a longer one; bounds the time spent on texts made to cost it. */
const LONGEST_SENTENCE = 2_000;
const LONGEST_SUBJECT = 200;

interface Sentence {
  text: string;
  /** Offset of the sentence in the whole text. */
  at: number;
  /** The whole masked text. */
  whole: string;
  mentions: readonly Mention[];
  context: Context;
  /** The text says that something of the older record stays in force. */
  stands: boolean;
}

/** Reads what a text says about this document's own succession. What it reports about other documents is no statement (B11). */
export function successionIn(whole: LinkedText, context: Context, isSelf: IsSelf): Succession {
  const result: Succession = { statements: [], unclear: [] };
  if (!HAS_VERB.test(whole.text)) return result;
  const text = masked(whole).replace(STRUCK, (struck) => ' '.repeat(struck.length));
  const mentions = mentionsIn(whole).filter(({ from, to }) => /\S/.test(text.slice(from, to)));
  const stands = STANDS.test(text);
  const bare: Verb[] = [];
  let next = 0;
  for (const { from, to } of sentencesOf(text)) {
    const inside: Mention[] = [];
    for (let m = mentions[next]; m !== undefined && m.from < to; m = mentions[next]) {
      inside.push(m);
      next += 1;
    }
    if (to - from > LONGEST_SENTENCE) continue;
    const own = text.slice(from, to);
    const still = context === 'status' ? stands : STANDS.test(own);
    const sentence = { text: own, at: from, whole: text, mentions: inside, context, stands: still };
    bare.push(...readSentence(sentence, isSelf, result));
  }
  const first = bare[0];
  if (first !== undefined && !result.statements.some((one) => one.self === 'older')) {
    const later = mentions.filter((mention) => mention.from >= first.to);
    addUnnamedSuccessor(first, stands, later, context, result);
  }
  return result;
}

const IN_PART = /\s*\((?:in part|partly|partially)\)\s*$/i;
const NOTHING = /^\W*(?:none|n\/?a|nil|no|nothing|tbd|not applicable)?\W*$/i;
const REFERENCE = /^\W?[\p{L}\p{N}#][\p{L}\p{N}# _./-]{0,59}$/u;

/** The values of a field of references, `443, PEP 3124` or `XEP-0022 (in part)`; undefined where it holds anything else, such as a sentence. */
export function referencesIn(text: string): string[] | undefined {
  const values = text
    .split(/[,;\n]/)
    .map((value) => value.trim())
    .filter((value) => value !== '');
  const isReference = (value: string): boolean =>
    REFERENCE.test(value.replace(IN_PART, '')) && value.split(' ').length <= 5;
  return values.every(isReference) ? values : undefined;
}

/** Succession given as a field of references: `supersedes: [ADR-1]` in front matter, `Superseded-By: 443` in a header. */
export function successionField(key: string, values: readonly string[]): Statement[] {
  const match =
    /^(partially-)?(super[sc]+ede[sd]|obsolete[sd]|replace[sd]|amend(?:s|ed))(-by)?$/.exec(key);
  if (match === null || match[2]?.endsWith('d') !== (match[3] !== undefined)) return [];
  const self = match[3] === undefined ? 'newer' : 'older';
  return values
    .filter((value) => !NOTHING.test(value))
    .map((value) => ({
      kind: kindOf(match[2] ?? '', match[1] !== undefined || IN_PART.test(value)),
      self,
      other: mentionOf(value.replace(IN_PART, '')),
      context: 'field',
    }));
}

/** Adds the sentence's statements; returns the verbs that say "superseded" and not by what. */
function readSentence(sentence: Sentence, isSelf: IsSelf, result: Succession): Verb[] {
  const bare: Verb[] = [];
  let settled = sentence.at;
  let inherits = false;
  for (const verb of verbsIn(sentence.text, sentence.at)) {
    const from = Math.max(settled, verb.from - LONGEST_SUBJECT);
    const before = sentence.whole.slice(from, verb.from);
    const subject = subjectOf(before, verb, sentence, isSelf, inherits);
    inherits = false;
    if (subject === 'other') {
      result.statements.push(...declaredOver(verb, sentence, isSelf));
      continue;
    }
    const voice = voiceOf(verb, subject, before);
    if (voice === 'agentless') {
      if (mayLackAgent(verb, before, sentence)) bare.push(verb);
      continue;
    }
    const objects = objectsOf(verb, sentence, subject === 'elliptical');
    const kind = inPart(verb, objects.partial || sentence.stands);
    const self = voice === 'passive' ? 'older' : 'newer';
    for (const other of objects.mentions)
      result.statements.push({ kind, self, other, context: sentence.context });
    settled = objects.end;
    inherits = objects.mentions.length > 0;
  }
  return bare;
}

function inPart(verb: Verb, partial: boolean): LinkKind {
  return verb.kind === 'supersedes' && (partial || verb.partial)
    ? 'partially_supersedes'
    : verb.kind;
}

type Subject = 'this' | 'elliptical' | 'other';

function subjectOf(
  before: string,
  verb: Verb,
  sentence: Sentence,
  isSelf: IsSelf,
  inherits: boolean,
): Subject {
  if (DENIED.test(before)) return 'other';
  const subject = before.replace(AUXILIARY, '');
  if (inherits) return CONTINUED.test(subject) ? 'this' : 'other';
  if (THIS.test(subject)) return 'this';
  const last = sentence.mentions.findLast((mention) => mention.to <= verb.from);
  const end = verb.from - before.length + subject.trimEnd().length;
  if (last !== undefined) return last.to === end && isSelf(last) ? 'this' : 'other';
  if (!/[\p{L}\p{N}]/u.test(subject)) return 'elliptical';
  const inStatus = STATUS_ONLY.test(subject) || CLAUSE.test(subject);
  return sentence.context === 'status' && inStatus ? 'elliptical' : 'other';
}

/** "supersedes X", "is superseded by X", "superseded". */
function voiceOf(verb: Verb, subject: Subject, before: string): 'active' | 'passive' | 'agentless' {
  if (verb.by) return 'passive';
  return verb.past && (subject === 'elliptical' || PASSIVE.test(before)) ? 'agentless' : 'active';
}

function mayLackAgent(verb: Verb, before: string, sentence: Sentence): boolean {
  if (verb.kind === 'amends') return false;
  if (sentence.context === 'status') return true;
  return PASSIVE.test(before) && !/\b(?:will|shall)\b/i.test(before);
}

interface Objects {
  mentions: Mention[];
  partial: boolean;
  /** Offset in the whole text after the last object. */
  end: number;
}

function objectsOf(verb: Verb, sentence: Sentence, elliptical: boolean): Objects {
  const objects: Objects = { mentions: [], partial: false, end: verb.to };
  for (const mention of sentence.mentions) {
    if (mention.from < objects.end) continue;
    if (mention.from - objects.end > LONGEST_GAP) break;
    const gap = sentence.whole.slice(objects.end, mention.from);
    const first = objects.mentions.length === 0;
    // In prose, a sentence without a subject must come to its object at once: "Replaces ADR 3."
    const strict = elliptical && sentence.context === 'prose';
    if (!(first ? (strict ? /^[\s:[]*$/ : FILLER) : BETWEEN_OBJECTS).test(gap)) break;
    objects.mentions.push(mention);
    objects.partial ||= first && SOME_OF.test(gap);
    objects.end = mention.to;
  }
  if (objects.mentions.length === 0 && sentence.context !== 'prose')
    addWorded(verb, sentence, objects);
  return objects;
}

/** "Superseded by 12", "Superseded by Use a queue": a bare number, or else perhaps a title. */
function addWorded(verb: Verb, sentence: Sentence, objects: Objects): void {
  const rest = sentence.whole.slice(verb.to, sentence.at + sentence.text.length);
  if (rest.includes(LINK) || rest.length > 300) return;
  const number = /^[\s:]*#?(0*\d{1,5})(?=[\s.,;)]|$)/.exec(rest)?.[1];
  const label = number ?? rest.replace(/^[\s:"'“‘(]+|[\s."'”’)]+$/g, '');
  if (label === '' || (number !== undefined && /^(?:19|20)\d\d$/.test(number))) return;
  objects.mentions.push(mentionOf(label));
  objects.end = verb.to + rest.length;
}

/** "[ADR 2] can be considered superseded", "[ADR 2] is superseded by this decision". */
function declaredOver(verb: Verb, sentence: Sentence, isSelf: IsSelf): Statement[] {
  if (!verb.past || (verb.by && !isAgent(verb, sentence, isSelf))) return [];
  const statements: Statement[] = [];
  const kind = inPart(verb, sentence.stands);
  let end = verb.from;
  for (const other of sentence.mentions.filter((mention) => mention.to <= verb.from).reverse()) {
    const gap = sentence.whole.slice(other.to, end);
    const linked =
      end === verb.from
        ? DECLARED.test(gap) || (verb.by && BECAME.test(gap))
        : BETWEEN_OBJECTS.test(gap);
    if (!linked) break;
    statements.push({ kind, self: 'newer', other, context: sentence.context });
    end = other.from;
  }
  return statements;
}

/** Whether `by` is followed by this document. */
function isAgent(verb: Verb, sentence: Sentence, isSelf: IsSelf): boolean {
  const after = sentence.text.slice(verb.to - sentence.at);
  if (BY_THIS.test(after)) return true;
  const agent = sentence.mentions.find((mention) => mention.from >= verb.to);
  return agent !== undefined && isSelf(agent) && agent.from - verb.to <= 1;
}

/** "superseded - the headline still applies, but in [ADR 9] we …": the one reference beside the bare word is the successor. */
function addUnnamedSuccessor(
  verb: Verb,
  stands: boolean,
  later: readonly Mention[],
  context: Context,
  result: Succession,
): void {
  const distinct = new Map(later.map((mention) => [mention.href ?? mention.label, mention]));
  const [only] = distinct.values();
  if (distinct.size > 1) result.unclear.push([...distinct.values()]);
  if (only === undefined || distinct.size > 1) return;
  result.statements.push({ kind: inPart(verb, stands), self: 'older', other: only, context });
}
