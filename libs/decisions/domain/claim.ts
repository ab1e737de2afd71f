import { canonicalJson, sha256 } from '#kernel/json.js';
import { isHidden } from '#kernel/sealing.js';
import { foldName, nameKey } from '#kernel/text.js';
import { FLAT, type IsWithin } from './hierarchy.js';
import type { Proposed, Scope } from './topic.events.js';

/** Half-open interval of valid time, in milliseconds UTC. */
export interface Validity {
  startMs: number;
  endMs: number;
}

/** `none`: some shared dimension differs. `equal`, or one is a strict exception inside the other, or they cross. */
export type ScopeRelation = 'none' | 'equal' | 'narrower' | 'wider' | 'crossing';

/**
 * How scope `a` stands to scope `b`; a dimension that is not named is not restricted (QO-3). Two values of a dimension are nested or
 * apart: a hierarchy is a tree.
 */
export function compareScopes(a: Scope, b: Scope, isWithin: IsWithin = FLAT): ScopeRelation {
  let narrower = restrictsMore(a, b);
  let wider = restrictsMore(b, a);
  for (const dimension of Object.keys(a)) {
    const other = valueIn(b, dimension);
    if (other === undefined) continue;
    const relation = compareValues(dimension, a[dimension], other, isWithin);
    if (relation === 'none') return 'none';
    narrower ||= relation === 'narrower';
    wider ||= relation === 'wider';
  }
  if (narrower && wider) return 'crossing';
  if (narrower) return 'narrower';
  return wider ? 'wider' : 'equal';
}

/** Values within each other are one value in two spellings. */
function compareValues(
  dimension: string,
  a = '',
  b = '',
  isWithin: IsWithin,
): Exclude<ScopeRelation, 'crossing'> {
  if (a === b) return 'equal';
  const above = isWithin(dimension, b, a);
  if (isWithin(dimension, a, b)) return above ? 'equal' : 'narrower';
  return above ? 'wider' : 'none';
}

function restrictsMore(a: Scope, b: Scope): boolean {
  return Object.keys(a).some((dimension) => valueIn(b, dimension) === undefined);
}

/** The value that a scope has for a dimension, in whatever spelling it names it (B33): no shape admits two spellings in one scope. */
function valueIn(scope: Scope, dimension: string): string | undefined {
  if (Object.hasOwn(scope, dimension)) return scope[dimension];
  const names = Object.keys(scope);
  if (names.length === 0) return undefined;
  const key = nameKey(dimension);
  const name = names.find((n) => nameKey(n) === key);
  return name === undefined ? undefined : scope[name];
}

/** Dimensions of a scope that none of the others names. */
export function unnamedIn(scope: Scope, others: readonly Scope[]): string[] {
  return Object.keys(scope).filter((dimension) =>
    others.every((other) => valueIn(other, dimension) === undefined),
  );
}

/** A decision made for `claimed` holds for a case described by `asked`: each restriction is met, by the value itself or by one below it. */
export function covers(claimed: Scope, asked: Scope, isWithin: IsWithin = FLAT): boolean {
  return Object.entries(claimed).every(([dimension, value]) => {
    const given = valueIn(asked, dimension);
    return given !== undefined && isWithin(dimension, given, value);
  });
}

/** They have a moment in common; an empty interval has none with any other. */
export function overlap(a: Validity, b: Validity): boolean {
  return Math.max(a.startMs, b.startMs) < Math.min(a.endMs, b.endMs);
}

/** `inner` lies wholly in `outer`. */
export function within(inner: Validity, outer: Validity): boolean {
  return outer.startMs <= inner.startMs && inner.endMs <= outer.endMs;
}

/** What documents are told apart by where their names may be erased. */
export function documentKey(document: string): string {
  return sha256(document);
}

export function documentKeyOf({
  document,
  document_key,
}: Pick<Proposed, 'document' | 'document_key'>): string | undefined {
  return document_key ?? (document === undefined ? undefined : documentKey(document));
}

/** True for a claim whose words were erased, or are sealed for this reader. */
export function isUnread({ statement, value }: Pick<Proposed, 'statement' | 'value'>): boolean {
  return isHidden(statement) || isHidden(value);
}

/** In place of the meaning of a claim that cannot be read. */
export function unread(id: string): string {
  return `unread ${id}`;
}

/**
 * What a claim says, in comparable form: its value where it has one, else its statement. One that cannot be read says the same as none
 * but itself.
 */
export function meaningOf(claim: Pick<Proposed, 'decision_id' | 'statement' | 'value'>): string {
  if (isUnread(claim)) return unread(claim.decision_id);
  return claim.value === undefined
    ? `statement ${foldName(claim.statement)}`
    : `value ${comparableJson(claim.value)}`;
}

/** Strings in both Unicode forms of one text are one (B33). */
function comparableJson(value: unknown): string {
  const text = canonicalJson(value);
  return text.normalize('NFC') === text ? text : canonicalJson(composed(value));
}

function composed(value: unknown): unknown {
  if (typeof value === 'string') return value.normalize('NFC');
  if (Array.isArray(value)) return value.map(composed);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, item]) => [name, composed(item)] as const);
  const renamed = new Map(entries.map(([name, item]) => [name.normalize('NFC'), item]));
  // Names that would become one stay apart: each has something to say.
  return Object.fromEntries(renamed.size === entries.length ? renamed : entries);
}

/** Hash of everything that a reviewer inspects and approves. */
export function contentHash(
  claim: Omit<
    Proposed,
    'decision_id' | 'content_hash' | 'reasons' | 'proposed_by' | 'origin' | 'keys' | 'document_key'
  >,
): string {
  return sha256(canonicalJson(claim));
}

/**
 * Id of a claim inside its topic, from what it says and on which words; not from when or through which ingestion it came,
 * nor from offsets, so that a new version of a document that says the same again is recognised as a duplicate. `occurrence`: which time it
 * is that a document came back to these words.
 */
export function decisionId(
  topic: string,
  claim: Pick<
    Proposed,
    'statement' | 'value' | 'scope' | 'effective_from' | 'effective_to' | 'decided_at' | 'evidence'
  >,
  occurrence = 1,
): string {
  const { statement, value, scope, effective_from, effective_to, decided_at, evidence } = claim;
  const said = {
    statement: statement.normalize('NFC'),
    ...(value === undefined ? {} : { value }),
    scope,
    dates: [effective_from ?? null, effective_to ?? null, decided_at ?? null],
    evidence: evidence.map((e) => e.excerpt.normalize('NFC').replace(/\s+/gu, ' ')),
    ...(occurrence === 1 ? {} : { occurrence }),
  };
  return `${topic}.${sha256(canonicalJson(said)).slice(0, 12)}`;
}

/** The topic that a decision id belongs to: the stream that decides about it. */
export function topicOf(decision: string): string | undefined {
  const match = /^(.+)\.[0-9a-f]{12}$/u.exec(decision);
  return match?.[1];
}

/**
 * The decision that a conflict is named after, `<decision>.c<number>`; an id of a decision itself is returned as it is, also where its
 * hash happens to be a c and digits.
 */
export function openerOf(id: string): string {
  return id.replace(/(\.[0-9a-f]{12})\.c\d+$/, '$1');
}

const TOPIC_ID_MAX = 120;

/** Topic id of a name. Names that fold alike share it (B33); names that differ in more than spacing and case do not. */
export function topicId(name: string): string {
  const folded = foldName(name);
  const spaced = folded.replace(/[\s_/-]+/gu, '-').replace(/^-+|-+$/g, '');
  const slug = folded.replace(/[^\p{L}\p{N}\p{M}]+/gu, '-').replace(/^-+|-+$/g, '');
  if (slug === spaced && slug !== '' && slug.length <= TOPIC_ID_MAX) return slug;
  return `${slug.slice(0, TOPIC_ID_MAX)}-${sha256(folded).slice(0, 8)}`.replace(/^-/, '');
}
