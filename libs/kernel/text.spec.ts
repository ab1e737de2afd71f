import { describe, expect, it } from '@jest/globals';
import { escapeUnseen, foldName, isVisible, nameKey, words } from './text.js';

describe('B33: names', () => {
  it.each(['Cafe\u0301', 'CAFÉ', ' café ', '\uff43\uff41\uff46é', 'Café'])('%s is café', (name) => {
    expect(foldName(name)).toBe('café');
  });

  it.each([
    'Pay\u200bments',
    'Pay\u00adments',
    'Pay\u2060ments',
    '\ufeffPayments',
    'pay\ufeffments',
  ])('what shows nothing is no difference: %j', (name) => {
    expect([foldName(name), nameKey(name)]).toEqual(['payments', 'payments']);
  });

  it('joiners are a difference: words and emoji are told apart by them', () => {
    expect(foldName('نامه\u200cای')).not.toBe(foldName('نامهای'));
    expect(foldName('👩\u200d🚀')).not.toBe(foldName('👩🚀'));
  });

  it('a letter and its mark are one though something unseen stood between them', () => {
    expect(foldName('Cafe\u200b\u0301')).toBe('café');
  });

  it.each([
    '',
    ' ',
    '\t\n',
    '\u200b',
    '\u00ad\u2060',
    '\ufeff',
    '\u200d',
    '\u3164',
    '\u2800',
    '\u0000',
  ])('nothing can be seen of %j', (text) => {
    expect(isVisible(text)).toBe(false);
  });

  it.each(['a', ' a', '\u200ba', '👩\u200d🚀', '.', '\u0661', '⠁', '\u{1f9ff}'])(
    '%j can be seen',
    (text) => {
      expect(isVisible(text)).toBe(true);
    },
  );

  it('an accent is a difference', () => {
    expect(foldName('cafe')).not.toBe(foldName('café'));
  });

  it('spaces, hyphens and underscores look up alike', () => {
    expect(nameKey('Payment  Terms')).toBe(nameKey('payment-terms'));
    expect(nameKey('C++')).not.toBe(nameKey('C#'));
  });
});

describe('escapeUnseen', () => {
  it('shows what a reader cannot see or what reorders what he sees', () => {
    expect(escapeUnseen('a\u202eb\u200bc\ufeff\u{e0041}')).toBe(
      'a\\u{202e}b\\u{200b}c\\u{feff}\\u{e0041}',
    );
  });

  it('leaves text that people write', () => {
    const text = 'Zeile\r\n\tשלום “quote” 👍🏽 naïve';
    expect(escapeUnseen(text)).toBe(text);
  });
});

it('words are folded', () => {
  expect(words('Use GOV.UK-Notify, déjà vu!')).toEqual([
    'use',
    'gov',
    'uk',
    'notify',
    'déjà',
    'vu',
  ]);
});
