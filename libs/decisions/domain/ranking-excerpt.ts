import { eachWord, termsOfWord } from './ranking-terms.js';

/** Where an excerpt stands in its text, in UTF-16 units. */
export interface Place {
  start: number;
  end: number;
}

interface Hit extends Place {
  term: string;
}

/**
 * The passage of at most `most` units that says most of what is asked, by the weights of the question's terms; the beginning of the
 * text where it says nothing of it. It begins and ends between words, where it can at lines or sentences.
 */
export function passage(text: string, weights: ReadonlyMap<string, number>, most: number): Place {
  const best = heaviest(hitsIn(text, weights), weights, most);
  return widened(text, best ?? { start: 0, end: 0 }, most);
}

function hitsIn(text: string, weights: ReadonlyMap<string, number>): Hit[] {
  const hits: Hit[] = [];
  eachWord(text, (word, start) => {
    for (const term of termsOfWord(word))
      if (weights.has(term)) hits.push({ term, start, end: start + word.length });
  });
  return hits;
}

/** The first window whose different terms weigh most. */
function heaviest(
  hits: readonly Hit[],
  weights: ReadonlyMap<string, number>,
  most: number,
): Place | undefined {
  const inside = new Map<string, number>();
  let [first, weight, heaviest] = [0, 0, 0];
  let best: Place | undefined;
  for (const hit of hits) {
    const count = inside.get(hit.term) ?? 0;
    inside.set(hit.term, count + 1);
    if (count === 0) weight += weights.get(hit.term) ?? 0;
    for (let gone = hits[first]; gone && hit.end - gone.start > most; gone = hits[++first]) {
      const left = (inside.get(gone.term) ?? 1) - 1;
      inside.set(gone.term, left);
      if (left === 0) weight -= weights.get(gone.term) ?? 0;
    }
    const from = hits[first];
    if (from && weight > heaviest + 1e-9) {
      heaviest = weight;
      best = { start: from.start, end: hit.end };
    }
  }
  return best;
}

const LINE_END = /[\n\r]/;
const SENTENCE_END = /[.!?。！？]\s/;

/** Takes in what stands around, evenly before and after, up to `most`, and cuts at the line, else the sentence, else the word. */
function widened(text: string, { start, end }: Place, most: number): Place {
  const spare = Math.max(0, most - (end - start));
  const before = Math.max(0, start - Math.floor(spare / 2));
  const from = cutBefore(text, before, start);
  const until = Math.min(text.length, from + most);
  return trimmed(text, { start: from, end: cutAfter(text, end, until) });
}

function cutBefore(text: string, least: number, start: number): number {
  if (least === 0) return 0;
  const room = text.slice(least, start);
  for (const boundary of [LINE_END, SENTENCE_END, /\s/]) {
    const at = room.search(boundary);
    if (at >= 0) return least + at + 1;
  }
  return start;
}

function cutAfter(text: string, end: number, until: number): number {
  if (until >= text.length) return text.length;
  const room = text.slice(end, until);
  for (const boundary of [LINE_END, SENTENCE_END, /\s/]) {
    const at = lastOf(room, boundary);
    if (at !== undefined) return end + at;
  }
  return end > 0 ? end : wholeCharacters(text, until);
}

function lastOf(text: string, boundary: RegExp): number | undefined {
  const found = [...text.matchAll(new RegExp(boundary.source, 'g'))].at(-1);
  return found && found.index + (boundary === SENTENCE_END ? 1 : 0);
}

function wholeCharacters(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

function trimmed(text: string, { start, end }: Place): Place {
  const shown = text.slice(start, end);
  const left = shown.length - shown.trimStart().length;
  return { start: start + left, end: Math.max(start + left, start + shown.trimEnd().length) };
}
