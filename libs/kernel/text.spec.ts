import { describe, expect, it } from '@jest/globals';
import { escapeUnseen, foldName, nameKey, words } from './text.js';

describe('B33: names', () => {
  it.each(['Cafe\u0301', 'CAFÉ', ' café ', '\uff43\uff41\uff46é', 'Café'])('%s is café', (name) => {
    expect(foldName(name)).toBe('café');
  });

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
