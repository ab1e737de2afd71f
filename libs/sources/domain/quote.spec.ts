import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { verifyQuote } from './quote.js';

const SOURCE =
  'The board said: \u201cWe\u00a0will\r\nnot ship before May\u201d \u2013 well\u2011known terms, caf\u00e9 \u03b1.';

describe('B35: quotes', () => {
  it('finds the exact words and gives their offsets', () => {
    const quote = 'not ship before May';
    const found = verifyQuote(SOURCE, quote);
    expect(found).toEqual({
      excerpt: quote,
      start: SOURCE.indexOf(quote),
      end: SOURCE.indexOf(quote) + quote.length,
      verbatim: true,
    });
  });

  it('finds words that differ in quotation marks, dashes and spaces only, and returns the source\u2019s own text', () => {
    const found = verifyQuote(SOURCE, '"We will not ship before May" - well-known terms');
    expect(found?.verbatim).toBe(false);
    expect(found?.excerpt).toBe(
      '\u201cWe\u00a0will\r\nnot ship before May\u201d \u2013 well\u2011known terms',
    );
    expect(SOURCE.slice(found?.start, found?.end)).toBe(found?.excerpt);
  });

  it('finds a decomposed spelling of a composed word', () => {
    expect(verifyQuote(SOURCE, 'cafe\u0301')).toMatchObject({
      excerpt: 'caf\u00e9',
      verbatim: false,
    });
  });

  it.each([
    ['one word changed', 'We will not ship before June'],
    ['"not" removed', 'We will ship before May'],
    ['a transliterated letter', 'caf\u00e9 alpha'],
    ['a capital', 'we will not ship'],
    ['nothing', ''],
    ['only spaces', '  \n '],
  ])('refuses %s', (_what, quote) => {
    expect(verifyQuote(SOURCE, quote)).toBeUndefined();
  });

  it.each([
    ['right-to-left text', 'הוחלט: תשלום תוך 60 יום (סעיף 4).', 'תשלום תוך 60 יום'],
    ['a quote between marks of direction', 'a \u2067שלום\u2069 b', '\u2067שלום\u2069'],
    ['letters of two units', 'We 👍🏽 agree 𝒙 = 2', 'agree 𝒙 = 2'],
    [
      'a script without spaces',
      '「支払条件は六十日とする」と決めた。',
      '「支払条件は六十日とする」',
    ],
    ['an Arabic sentence with marks', 'قُرِّرَ أن يُدفع خلال ٦٠ يومًا.', 'يُدفع خلال ٦٠ يومًا'],
  ])('keeps the offsets of %s in UTF-16 units', (_what, text, quote) => {
    expect(verifyQuote(text, quote)).toEqual({
      excerpt: quote,
      start: text.indexOf(quote),
      end: text.indexOf(quote) + quote.length,
      verbatim: true,
    });
  });

  it.each([
    ['a letter that only looks alike', 'p\u0430y in May', 'pay in May'],
    ['an invisible letter between', 'pay in M\u200bay', 'pay in May'],
    ['a turned word', 'pay \u202eyaM ni\u202c', 'pay in May'],
    ['another digit', 'within ٦٠ days', 'within 60 days'],
    ['a number cut', 'pay 1,500 in May', 'pay 1,50'],
  ])('does not take %s for the same', (_what, text, quote) => {
    expect(verifyQuote(text, quote)).toBeUndefined();
  });

  it('never cuts a word: "can" is not found in "cannot"', () => {
    expect(verifyQuote('we cannot agree', 'we can')).toBeUndefined();
    expect(verifyQuote('we\u00a0cannot agree', 'we can')).toBeUndefined();
  });

  it('property: whatever is found is the source\u2019s own text at its offsets', () => {
    const texts = fc.string({
      unit: fc.constantFrom(
        'a',
        'b',
        ' ',
        '\u00a0',
        '\n',
        '\u2019',
        "'",
        '-',
        '\u2013',
        'e\u0301',
        '\u00e9',
        '😀',
      ),
    });
    fc.assert(
      fc.property(texts, texts, (text, quote) => {
        const found = verifyQuote(text, quote);
        if (found) expect(text.slice(found.start, found.end)).toBe(found.excerpt);
      }),
    );
  });
});
