/** Letters, digits and their marks: a decomposed letter stays in one word. */
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Scripts that are written without spaces between words: each pair of neighbours is a term. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}]/u;

/** Longer "words" are numbers, keys or encoded bytes; only their beginning counts. */
const LONGEST = 64;

/** Calls `visit` with each word of a text as it is written, and where it begins. */
export function eachWord(text: string, visit: (word: string, start: number) => void): void {
  WORD.lastIndex = 0;
  for (let match = WORD.exec(text); match; match = WORD.exec(text)) visit(match[0], match.index);
}

const ACCENTS = /[\u0300-\u036f]/g;

/** The terms that a written word stands for: one, or several in scripts without spaces. Form, case and accents do not count (B33). */
export function termsOfWord(word: string): string[] {
  const clipped = word.length > LONGEST ? word.slice(0, LONGEST).toWellFormed() : word;
  const folded = clipped.normalize('NFKD').toLowerCase().replace(ACCENTS, '').normalize('NFKC');
  if (UNSPACED.test(folded)) return pairs([...folded]);
  return folded === '' ? [] : [stem(folded)];
}

function pairs(characters: readonly string[]): string[] {
  if (characters.length < 2) return [...characters];
  return characters.slice(1).map((character, i) => `${characters[i] ?? ''}${character}`);
}

const SUFFIXES = ['ations', 'ation', 'ings', 'ing', 'ies', 'ers', 'ed', 'es', 's', 'ly', 'e', 'y'];
const SHORTEST_STEM = 3;

/**
 * Cuts an inflection off a word in plain Latin letters. It maps both sides alike and serves nothing but ranking, so that a cut too
 * much costs a place in a list and never an answer.
 */
function stem(word: string): string {
  if (!/^[a-z]+$/.test(word)) return word;
  for (const suffix of SUFFIXES)
    if (word.endsWith(suffix) && word.length - suffix.length >= SHORTEST_STEM)
      return word.slice(0, -suffix.length);
  return word;
}

/** Words of questions that say nothing about what is asked. They count in texts, never in questions: few texts give no sound frequency. */
const FUNCTION_WORDS = new Set(
  (
    'a an and are as at be been but by did do does for from had has have how in is it its of on or that the their then there they ' +
    'this to was were what when where which who why will with ' +
    'der die das ein eine und oder ist sind war wird wurde was wie wer wo wann warum welche welcher welches von für mit im zu ' +
    'le la les un une des du et ou est sont qui que quel quelle quand pourquoi comment pour avec dans ' +
    'el los las una y o es son quien que cual cuando por para con en de'
  ).split(' '),
);

/** The terms of a question, each once. A question of nothing but function words is taken at its word. */
export function termsOfQuestion(question: string): string[] {
  const telling = new Set<string>();
  const all = new Set<string>();
  eachWord(question, (word) => {
    const says = !FUNCTION_WORDS.has(word.normalize('NFKC').toLowerCase());
    for (const term of termsOfWord(word)) {
      all.add(term);
      if (says) telling.add(term);
    }
  });
  return [...(telling.size > 0 ? telling : all)];
}
