import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Dictionary } from './ranking-arrays.js';
import { Best } from './ranking-best.js';
import { passage } from './ranking-excerpt.js';
import { eachWord, termsOfQuestion, termsOfWord } from './ranking-terms.js';
import { TextIndex, WEIGHTS } from './ranking.js';

interface Doc {
  title: string;
  text: string;
}

const WORDS = ['zinc', 'oak', 'elm', 'fir', 'ash', 'yew', 'bay', 'box'];
const prose = (most: number) =>
  fc.array(fc.constantFrom(...WORDS), { maxLength: most }).map((words) => words.join(' '));
const docs = fc.array(fc.record({ title: prose(3), text: prose(20) }), {
  minLength: 1,
  maxLength: 30,
});

/** BM25F word for word, over all documents, without an index. */
function plainScores(all: readonly Doc[], question: string): number[] {
  const split = (text: string): string[] => text.split(' ').filter(Boolean);
  const average = (of: (doc: Doc) => string): number =>
    Math.max(1, all.reduce((n, doc) => n + split(of(doc)).length, 0) / all.length);
  const [text, title] = [average((d) => d.text), average((d) => d.title)];
  const norm = (b: number, length: number, mean: number): number => 1 - b + (b * length) / mean;
  const times = (words: string[], word: string): number => words.filter((w) => w === word).length;
  const weights = new Map(
    [...new Set(split(question))].map((word) => {
      const having = all.filter((d) => split(`${d.title} ${d.text}`).includes(word)).length;
      return [word, having === 0 ? 0 : Math.log(1 + (all.length - having + 0.5) / (having + 0.5))];
    }),
  );
  const most = Math.max(...weights.values());
  return all.map((doc) => {
    let score = 0;
    for (const [word, weight] of weights) {
      if (weight <= most * 0.01) continue;
      const [inText, inTitle] = [split(doc.text), split(doc.title)];
      const often =
        times(inText, word) / norm(WEIGHTS.text, inText.length, text) +
        (WEIGHTS.ofTitle * Math.min(7, times(inTitle, word))) /
          norm(WEIGHTS.title, inTitle.length, title);
      score += (weight * (WEIGHTS.k + 1) * often) / (WEIGHTS.k + often);
    }
    return score;
  });
}

function scoresOf(index: TextIndex, question: string): number[] {
  const { documents, count, scores } = index.score(question);
  const all = new Array<number>(index.size).fill(0);
  for (const document of documents.subarray(0, count)) all[document] = scores[document] ?? 0;
  return all;
}

describe('QO-25: the index', () => {
  it('property: scores as BM25F does over the words themselves', () => {
    let compared = 0;
    fc.assert(
      fc.property(docs, prose(4), (all, question) => {
        const index = new TextIndex();
        for (const { title, text } of all) index.add(title, text);
        const ours = scoresOf(index, question);
        for (const [i, plain] of plainScores(all, question).entries()) {
          compared += 1;
          // Lengths are kept on a scale of 16 steps an octave.
          expect(Math.abs((ours[i] ?? 0) - plain)).toBeLessThanOrEqual(0.03 * plain + 1e-6);
        }
      }),
      { numRuns: 300 },
    );
    process.stdout.write(`QO-25: ${compared} scores compared with BM25F over the plain words\n`);
  });

  it('property: questions in between change no score, so that it is the same after a restart', () => {
    fc.assert(
      fc.property(docs, prose(4), (all, question) => {
        const [once, asked] = [new TextIndex(), new TextIndex()];
        for (const { title, text } of all) once.add(title, text);
        for (const { title, text } of all) {
          asked.add(title, text);
          asked.score(question);
        }
        expect(scoresOf(asked, question)).toEqual(scoresOf(once, question));
      }),
    );
  });

  it('holds long posting lists and many terms, in bounded memory', () => {
    const index = new TextIndex();
    const count = 20_000;
    for (let n = 0; n < count; n++) index.add(`unit ${n}`, `the common words of unit ${n} agreed`);
    // A word that all have tells none from another beside one that few have.
    expect(index.score('common agreed unit 77').count).toBe(1);
    for (let n = 0; n < count / 4; n++) index.add('', 'rare common');
    const rare = index.score('rare');
    expect(rare.count).toBe(count / 4);
    expect([...rare.documents.subarray(0, 3)]).toEqual([count, count + 1, count + 2]);
    expect([...index.score('19999').documents.subarray(0, 1)]).toEqual([19_999]);
    const bytes = index.bytes / index.size;
    process.stdout.write(`QO-25: ${bytes.toFixed(0)} bytes a document\n`);
    expect(bytes).toBeLessThan(150);
  });
});

describe('B33: words people write', () => {
  it.each([
    ['composed and decomposed', 'caf\u00e9', 'cafe\u0301'],
    ['capitals', 'Vergütung', 'VERGÜTUNG'],
    ['full width', 'ＡＤＲ１２', 'adr12'],
    ['with and without accents', 'résumé', 'resume'],
    ['singular and plural', 'invoice', 'invoices'],
    ['ligatures', 'o\ufb03ce', 'office'],
  ])('%s are one term', (_what, a, b) => {
    expect(termsOfWord(a)).toEqual(termsOfWord(b));
  });

  it('a decomposed word stays one word, at its place', () => {
    const found: [string, number][] = [];
    eachWord('a cafe\u0301 \u05e9\u05b8\u05dc\u05d5\u05b9\u05dd', (word, at) =>
      found.push([word, at]),
    );
    expect(found).toEqual([
      ['a', 0],
      ['cafe\u0301', 2],
      ['\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd', 8],
    ]);
  });

  it('scripts without spaces are found by parts of their words', () => {
    const index = new TextIndex();
    index.add('', '支払条件は六十日とする');
    index.add('', '採用は来年から');
    expect([...index.score('支払条件').documents.subarray(0, 1)]).toEqual([0]);
  });

  it('a question of function words alone is taken at its word', () => {
    expect(termsOfQuestion('What is the retention of logs?')).toEqual(
      expect.not.arrayContaining(['what', 'the']),
    );
    expect(termsOfQuestion('to be or not to be').length).toBeGreaterThan(0);
    expect(termsOfQuestion('who is it').length).toBeGreaterThan(0);
  });
});

describe('parts of the index', () => {
  it('property: a dictionary numbers strings in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (keys) => {
        const dictionary = new Dictionary();
        const known = new Map<string, number>();
        for (const key of keys) {
          if (!known.has(key)) known.set(key, known.size);
          expect(dictionary.add(key)).toBe(known.get(key));
        }
        for (const [key, number] of known) expect(dictionary.find(key)).toBe(number);
        expect(dictionary.find(`${keys.join('')}!`)).toBeUndefined();
      }),
    );
  });

  it('property: the best few are those that sorting gives', () => {
    const offers = fc.array(fc.record({ key: fc.nat(20), score: fc.nat(10) }));
    fc.assert(
      fc.property(offers, fc.integer({ min: 1, max: 8 }), (all, most) => {
        const best = new Best(most);
        const highest = new Map<number, number>();
        for (const { key, score } of all) {
          best.offer(key, score, 0);
          highest.set(key, Math.max(score, highest.get(key) ?? -1));
        }
        const sorted = [...highest].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most);
        expect(best.list().map(({ key, score }) => [key, score])).toEqual(sorted);
      }),
    );
  });

  it('property: a passage is a piece of the text, not too long, whole characters, and holds what weighs most', () => {
    const units = fc.constantFrom('oak ', 'zinc. ', 'fir\n', 'elm', '😀', ' ', '\r\n', 'e\u0301');
    fc.assert(
      fc.property(
        fc.string({ unit: units, maxLength: 200 }),
        fc.integer({ min: 12, max: 80 }),
        (text, most) => {
          const { start, end } = passage(text, new Map([['zinc', 3]]), most);
          const excerpt = text.slice(start, end);
          expect(excerpt.length).toBeLessThanOrEqual(most);
          expect(excerpt.isWellFormed()).toBe(true);
          expect(excerpt.trim()).toBe(excerpt);
          if (/(?<![\p{L}\p{N}\p{M}])zinc/u.test(text)) expect(excerpt).toContain('zinc');
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
