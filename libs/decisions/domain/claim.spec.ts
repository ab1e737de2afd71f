import { describe, expect, it } from '@jest/globals';
import { decisionId, meaningOf, topicId } from './claim.js';

const said = (value: unknown) =>
  meaningOf({ decision_id: 't.000000000000', statement: 's', value: value });

describe('B33: what a claim says', () => {
  it.each([
    ['Café', 'Cafe\u0301'],
    [
      ['Café', 1],
      ['Cafe\u0301', 1],
    ],
    [{ name: { Café: 'Café' } }, { name: { 'Cafe\u0301': 'Cafe\u0301' } }],
    [
      { Café: 1, Cafz: 2 },
      { 'Cafe\u0301': 1, Cafz: 2 },
    ],
  ])('%j is the same in both Unicode forms', (value, other) => {
    expect(said(other)).toBe(said(value));
  });

  it('case, width and accents of a value are differences', () => {
    expect(new Set(['Café', 'CAFÉ', 'Cafe', 'Ｃafé'].map(said)).size).toBe(4);
  });

  it('names that differ in their form only keep what each says', () => {
    const value = { Café: 1, 'Cafe\u0301': 2 };
    expect(said(value)).not.toBe(said({ Café: 2, 'Cafe\u0301': 1 }));
    expect(said(value)).not.toBe(said({ Café: 1 }));
  });

  it('the id of a decision keeps the form that it was made of', () => {
    const id = (value: string) =>
      decisionId('t', { statement: 's', value, scope: {}, evidence: [] });
    expect(id('Café')).not.toBe(id('Cafe\u0301'));
  });
});

describe('B33: ids of topics', () => {
  it.each([
    ['Payment terms', 'payment-terms'],
    ['C++', 'c-cedb1bac'],
    ['نامه\u200cای', 'نامه-ای-6db5a91f'],
  ])('the id of %j stays what it was', (name, id) => {
    expect(topicId(name)).toBe(id);
  });

  it.each(['Pay\u200bments', 'Pay\u00adments', '\ufeffPayments'])('%j is Payments', (name) => {
    expect(topicId(name)).toBe('payments');
  });
});
