import type { LinkKind } from './document-types.js';

/** A verb of succession in a sentence; offsets are those of the whole text. */
export interface Verb {
  kind: LinkKind;
  from: number;
  to: number;
  partial: boolean;
  past: boolean;
  by: boolean;
}

const VERB =
  /\b(?:(partially|partly|in part|largely|mostly)\s+)?(super(?:s|c|sc)ed(?:es?|ed)|obsolete[sd]?|replace[sd]?|amend(?:s|ed)?)\b(?:,?\s+(in part|partially|partly)\b)?(?:,?\s+(by)\b)?/gi;
export const HAS_VERB = /super(?:s|c|sc)ed|obsolete|replace|amend/i;
const RECORD = '(?:adr|dr|decision|record|document|rfc|proposal|doc|one)';
export const THIS = new RegExp(
  `(?:(?:^|[\\s,;:(—–-])(?:this|the present)(?:\\s+(?:new|newer|architectur\\w+|design))*(?:\\s+${RECORD})+|^\\W*this)[\\s,]*$`,
  'i',
);
export const BY_THIS = new RegExp(
  `^\\s+(?:this|the present)(?:\\s+(?:new|newer))?\\s+${RECORD}\\b`,
  'i',
);
export const AUXILIARY =
  /(?:\b(?:is|are|was|were|has|have|had|been|be|being|will|shall|now|also|hereby|thereby|therefore|thus|then|later|since|subsequently|fully|completely|entirely|formally|explicitly)\b[\s,]*)+$/i;
export const PASSIVE = /\b(?:is|are|was|were|been|be)\b/i;
export const DENIED =
  /\b(?:not|never|no longer|cannot|if|whether|unless|would|could|might|instead of|rather than|without)\b|n['’]t\b/i;
export const STATUS_ONLY =
  /^[^\p{L}\p{N}\uE000]*(?:accepted|approved|adopted|agreed|decided|ratified|proposed|rejected|deprecated|amended)\b[\s\p{P}\p{S}\d]*(?:(?:and|but|then)\s*)?$/iu;
export const CLAUSE = /(?:[,;:(—–]|\s-)\s*$/;
export const CONTINUED = /^[\s,;&]*(?:and|but|then)?[\s,]*(?:also)?\s*$/i;
/** What may stand between the verb and its object without changing who replaces what. */
export const FILLER =
  /^(?:[\s:,"'“‘([*`-]|\b(?:by|the|our|an?|earlier|previous|prior|former|old|existing|original|decisions?|records?|adrs?|documents?|number|no\.|approach|choice|policy|made|taken|described|documented|recorded|in|from|of|parts?|portions?|some|aspects?|sections?|all)\b)*$/i;
export const SOME_OF = /\b(?:parts?|portions?|some|aspects?|sections?)\b/i;
export const BETWEEN_OBJECTS =
  /^[\s"'”’)\]]*(?:,|;|&|and|as well as|,\s*and)\s+(?:also\s+|by\s+|the\s+)*$/i;
export const STANDS =
  /\bstill\s+(?:appl(?:y|ies)|stands?|valid|holds?|in force|in effect|relevant)\b|\bremains?\s+(?:valid|in force|in effect)\b/i;
/** "[ADR 2] can be considered …": this document passes the sentence. "[ADR 2] was superseded" only reports one. */
export const DECLARED =
  /^\s*(?:(?:can|may|should|must|shall|will|is to|are to)\s+(?:now\s+|therefore\s+|thus\s+)?be\s+(?:now\s+)?(?:considered|marked|treated|regarded|seen)\s+(?:as\s+)?|(?:is|are)\s+(?:now|hereby|thereby|therefore|thus)\s+)$/i;
export const BECAME =
  /^\s*(?:is|are|was|were|has been|have been|will be)\s+(?:now\s+|hereby\s+)?$/i;
const SENTENCE_END =
  /[.!?]["'”’)\]]*\s+(?=[^a-z0-9])|\n(?=[^\w\n]*[A-Z\u{1F300}-\u{1FAFF}\u2600-\u27BF])/gu;

/** All verbs of succession in a sentence that begins at `at` of the whole text. */
export function* verbsIn(sentence: string, at: number): Generator<Verb> {
  for (const match of sentence.matchAll(VERB)) yield verbOf(match, at);
}

function verbOf(match: RegExpExecArray, at: number): Verb {
  const word = (match[2] ?? '').toLowerCase();
  return {
    kind: kindOf(word, false),
    from: at + match.index,
    to: at + match.index + match[0].length,
    partial: match[1] !== undefined || match[3] !== undefined,
    past: word.endsWith('d'),
    by: match[4] !== undefined,
  };
}

export function kindOf(word: string, partial: boolean): LinkKind {
  if (word.startsWith('amend')) return 'amends';
  return partial ? 'partially_supersedes' : 'supersedes';
}

/** Bounds of the sentences, in order. */
export function sentencesOf(text: string): { from: number; to: number }[] {
  const sentences: { from: number; to: number }[] = [];
  let from = 0;
  for (const end of text.matchAll(SENTENCE_END)) {
    const to = end.index + end[0].length;
    sentences.push({ from, to });
    from = to;
  }
  return [...sentences, { from, to: text.length }];
}
