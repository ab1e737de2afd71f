import { describe, expect, it } from '@jest/globals';
import { compareScopes, covers } from './claim.js';
import { FLAT, withinOf } from './hierarchy.js';

const isWithin = withinOf(
  new Map([
    [
      'region',
      new Map([
        ['world', undefined],
        ['eu', 'world'],
        ['de', 'eu'],
        ['us', 'world'],
        ['Île', 'eu'],
      ]),
    ],
  ]),
);

describe('values below values', () => {
  it.each([
    ['de', 'eu', true],
    ['de', 'world', true],
    ['eu', 'de', false],
    ['us', 'eu', false],
    ['mars', 'world', false],
    ['mars', 'mars', true],
  ])('QO-3: %s within %s: %s', (value, ancestor, expected) => {
    expect(isWithin('region', value, ancestor)).toBe(expected);
    expect(isWithin('team', value, ancestor)).toBe(value === ancestor);
    expect(FLAT('region', value, ancestor)).toBe(value === ancestor);
  });

  it('B33: a value is one in every case and Unicode form, declared or not, and so is the name of its dimension', () => {
    expect(isWithin('region', 'DE', 'Eu')).toBe(true);
    expect(isWithin('region', 'i\u0302le', 'ÎLE')).toBe(true);
    expect(isWithin('Region', 'DE', 'Eu')).toBe(true);
    expect(isWithin('region', 'Mars', 'mars')).toBe(true);
    expect(isWithin('region', 'Mars', 'eu')).toBe(false);
    expect(FLAT('city', 'Zürich', 'ZU\u0308RICH')).toBe(true);
    expect(compareScopes({ region: 'EU' }, { region: 'eu' }, isWithin)).toBe('equal');
  });

  it('B33, QO-3: a scope in another spelling is the same scope: it is met, and it crosses nothing', () => {
    for (const within of [isWithin, FLAT])
      for (const other of [{ region: 'eu' }, { REGION: 'EU' }, { 'region ': 'ＥＵ' }]) {
        expect(covers({ region: 'EU' }, other, within)).toBe(true);
        expect(covers(other, { region: 'EU', team: 'x' }, within)).toBe(true);
        expect(compareScopes({ region: 'EU' }, other, within)).toBe('equal');
        expect(compareScopes({ region: 'EU', team: 'x' }, other, within)).toBe('narrower');
        expect(compareScopes({ region: 'EU' }, { ...other, team: 'x' }, within)).toBe('wider');
        expect(compareScopes({ region: 'US' }, other, within)).toBe('none');
      }
    expect(compareScopes({ Region: 'de' }, { region: 'EU' }, isWithin)).toBe('narrower');
    expect(covers({ region: 'EU' }, { Region: 'de' }, isWithin)).toBe(true);
    expect(covers({ 'billing region': 'eu' }, { billing_region: 'EU' })).toBe(true);
    expect(covers({ team: 'x' }, { region: 'x' })).toBe(false);
  });

  it('QO-3: decides which scope is the exception', () => {
    const compare = (a: Record<string, string>, b: Record<string, string>) =>
      compareScopes(a, b, isWithin);
    expect(compare({ region: 'de' }, { region: 'eu' })).toBe('narrower');
    expect(compare({ region: 'world' }, { region: 'de' })).toBe('wider');
    expect(compare({ region: 'us' }, { region: 'eu' })).toBe('none');
    expect(compare({ region: 'de' }, { region: 'eu', team: 'x' })).toBe('crossing');
    expect(covers({ region: 'eu' }, { region: 'de', team: 'x' }, isWithin)).toBe(true);
    expect(covers({ region: 'de' }, { region: 'eu' }, isWithin)).toBe(false);
  });

  it('a ring, which no ontology has, ends where it began', () => {
    const ring = withinOf(
      new Map([
        [
          'd',
          new Map([
            ['a', 'b'],
            ['b', 'a'],
          ]),
        ],
      ]),
    );
    expect([ring('d', 'a', 'b'), ring('d', 'a', 'c')]).toEqual([true, false]);
  });
});
