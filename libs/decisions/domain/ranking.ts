import { Dictionary, roomFor } from './ranking-arrays.js';
import { eachWord, termsOfQuestion, termsOfWord } from './ranking-terms.js';

/** One set for everything that is ranked (B10): saturation, length normalisation of text and title, weight of a word of the title. */
export const WEIGHTS = { k: 3, text: 0.7, title: 0.5, ofTitle: 6 } as const;

/** A posting is one number: 24 bits of document, 5 of how often in the text, 3 of how often in the title. */
const DOCUMENT_BITS = 24;
export const MOST_DOCUMENTS = 2 ** DOCUMENT_BITS;
const MOST_IN_TEXT = 31;
const MOST_IN_TITLE = 7;

/** Postings of one term stand in slices of 1, 3, 7 … 1023, each followed by the address of the next. */
const SLICE_LEVELS = 10;
const sliceLength = (level: number): number => 2 << Math.min(level, SLICE_LEVELS - 1);

/** A term in nearly every document tells none from another. */
const LEAST_WEIGHT = 0.01;

const WORDS_REMEMBERED = 50_000;

/** Documents that a question touched. Valid until the next question: the arrays are the index's own. */
export interface Scores {
  documents: Uint32Array;
  count: number;
  /** By document. */
  scores: Float32Array;
  /** What a document would score at most. */
  best: number;
}

/**
 * Inverted index with BM25F over documents of a title and a text, in typed arrays: about 4 bytes for each distinct word of each
 * document, 45 for each term and 8 for each document. Documents are numbered from 0 and never removed. Scores depend on what was added alone, not
 * on when or in how many steps.
 */
export class TextIndex {
  private readonly terms = new Dictionary();
  private pool = new Uint32Array(1024);
  private used = 0;
  // By term: its first slice, where its next posting goes, room in and level of its last slice, documents that have it.
  private first = new Uint32Array(256);
  private tail = new Uint32Array(256);
  private room = new Uint16Array(256);
  private level = new Uint8Array(256);
  private frequency = new Uint32Array(256);
  // By document: lengths on a logarithmic scale.
  private textLength = new Uint8Array(256);
  private titleLength = new Uint8Array(256);
  private documents = 0;
  private textWords = 0;
  private titleWords = 0;

  private scores = new Float32Array(256);
  private touched = new Uint32Array(256);
  private touchedCount = 0;
  private readonly remembered = new Map<string, number[]>();

  get size(): number {
    return this.documents;
  }

  /** Bytes of memory held. */
  get bytes(): number {
    const arrays = [this.pool, this.first, this.tail, this.room, this.level, this.frequency];
    const perDocument = [this.textLength, this.titleLength, this.scores, this.touched];
    return [...arrays, ...perDocument].reduce((n, a) => n + a.byteLength, this.terms.bytes);
  }

  /** Adds a document and returns its number. */
  add(title: string, text: string): number {
    if (this.documents >= MOST_DOCUMENTS) throw new Error('the index is full');
    const document = this.documents++;
    const counts = new Map<number, number>();
    const inTitle = this.count(title, counts, 1 << 16);
    const inText = this.count(text, counts, 1);
    for (const [term, n] of counts) this.post(term, document, n & 0xffff, n >>> 16);
    this.textLength = roomFor(this.textLength, this.documents);
    this.titleLength = roomFor(this.titleLength, this.documents);
    this.textLength[document] = logarithmic(inText);
    this.titleLength[document] = logarithmic(inTitle);
    this.textWords += inText;
    this.titleWords += inTitle;
    return document;
  }

  /** How much each term of a question tells about a document, most first; without those that tell nothing. */
  weigh(question: string): { term: string; weight: number }[] {
    const found = termsOfQuestion(question).map((term) => {
      const id = this.terms.find(term);
      return { term, weight: id === undefined ? 0 : this.weightOf(id) };
    });
    const most = Math.max(0, ...found.map((f) => f.weight));
    return found
      .filter((f) => f.weight > most * LEAST_WEIGHT)
      .sort((a, b) => b.weight - a.weight || (a.term < b.term ? -1 : 1));
  }

  score(question: string): Scores {
    this.scores = roomFor(this.scores, this.documents);
    this.touched = roomFor(this.touched, this.documents);
    for (let i = 0; i < this.touchedCount; i++) this.scores[this.touched[i] ?? 0] = 0;
    this.touchedCount = 0;
    const norms = {
      text: normsOf(WEIGHTS.text, this.textWords / Math.max(1, this.documents), 1),
      title: normsOf(WEIGHTS.title, this.titleWords / Math.max(1, this.documents), WEIGHTS.ofTitle),
    };
    let best = 0;
    for (const { term, weight } of this.weigh(question)) {
      this.accumulate(this.terms.find(term) ?? 0, weight * (WEIGHTS.k + 1), norms);
      best += weight * (WEIGHTS.k + 1);
    }
    const { touched: documents, touchedCount: count, scores } = this;
    return { documents, count, scores, best };
  }

  private count(text: string, counts: Map<number, number>, unit: number): number {
    let words = 0;
    eachWord(text, (word) => {
      for (const term of this.numbered(word)) {
        words += 1;
        const before = counts.get(term) ?? 0;
        // The two halves of the number must not run into each other.
        if (((before / unit) & 0xffff) < 0x7fff) counts.set(term, before + unit);
      }
    });
    return words;
  }

  private numbered(word: string): number[] {
    const known = this.remembered.get(word);
    if (known) return known;
    const numbers = termsOfWord(word).map((term) => this.terms.add(term));
    if (this.remembered.size >= WORDS_REMEMBERED) this.remembered.clear();
    this.remembered.set(word, numbers);
    return numbers;
  }

  private post(term: number, document: number, inText: number, inTitle: number): void {
    if (term >= this.first.length) this.moreTerms();
    if (this.frequency[term] === 0) this.first[term] = this.slice(term, 0);
    else if (this.room[term] === 0) {
      const level = (this.level[term] ?? 0) + 1;
      // The address of the next slice follows a slice's last posting, where `tail` stands.
      const end = this.tail[term] ?? 0;
      const next = this.slice(term, level);
      this.pool[end] = next;
    }
    const at = this.tail[term] ?? 0;
    const often = (Math.min(inTitle, MOST_IN_TITLE) << 5) | Math.min(inText, MOST_IN_TEXT);
    this.pool[at] = document * 256 + often;
    this.tail[term] = at + 1;
    this.room[term] = (this.room[term] ?? 1) - 1;
    this.frequency[term] = (this.frequency[term] ?? 0) + 1;
  }

  private slice(term: number, level: number): number {
    const length = sliceLength(level);
    const at = this.used;
    this.used += length;
    this.pool = roomFor(this.pool, this.used);
    this.tail[term] = at;
    this.room[term] = length - 1;
    this.level[term] = Math.min(level, SLICE_LEVELS - 1);
    return at;
  }

  private moreTerms(): void {
    this.first = roomFor(this.first, this.terms.size);
    this.tail = roomFor(this.tail, this.first.length);
    this.room = roomFor(this.room, this.first.length);
    this.level = roomFor(this.level, this.first.length);
    this.frequency = roomFor(this.frequency, this.first.length);
  }

  private weightOf(term: number): number {
    const having = this.frequency[term] ?? 0;
    if (having === 0) return 0;
    return Math.log(1 + (this.documents - having + 0.5) / (having + 0.5));
  }

  private accumulate(term: number, weight: number, norms: Norms): void {
    let at = this.first[term] ?? 0;
    let left = this.frequency[term] ?? 0;
    for (let level = 0; left > 0; level++) {
      const room = sliceLength(level) - 1;
      this.accumulateSlice(at, at + Math.min(room, left), weight, norms);
      left -= room;
      if (left > 0) at = this.pool[at + room] ?? 0;
    }
  }

  private accumulateSlice(from: number, end: number, weight: number, norms: Norms): void {
    const { pool, scores, touched, textLength, titleLength } = this;
    let count = this.touchedCount;
    for (let i = from; i < end; i++) {
      const posting = pool[i] ?? 0;
      const document = posting >>> 8;
      const often =
        (posting & 31) * (norms.text[textLength[document] ?? 0] ?? 0) +
        ((posting >>> 5) & 7) * (norms.title[titleLength[document] ?? 0] ?? 0);
      const before = scores[document] ?? 0;
      if (before === 0) touched[count++] = document;
      scores[document] = before + (weight * often) / (WEIGHTS.k + often);
    }
    this.touchedCount = count;
  }
}

/** By length on the logarithmic scale: what one occurrence counts. */
interface Norms {
  text: Float32Array;
  title: Float32Array;
}

const STEPS_PER_DOUBLING = 16;

function logarithmic(length: number): number {
  return Math.min(255, Math.round(STEPS_PER_DOUBLING * Math.log2(1 + length)));
}

/** By length on the logarithmic scale: what one occurrence counts. */
function normsOf(b: number, average: number, weight: number): Float32Array {
  return Float32Array.from({ length: 256 }, (_, q) => {
    const length = 2 ** (q / STEPS_PER_DOUBLING) - 1;
    return weight / (1 - b + (b * length) / Math.max(average, 1));
  });
}
