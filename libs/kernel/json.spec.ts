import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, derivedId, parseJson } from './json.js';
import { Refusal } from './refusal.js';

function refused(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('parseJson (B32)', () => {
  it.each([
    ['{"a":9007199254740993}', 'a'],
    ['{"a":1e400}', 'a'],
    ['{"a":-0}', 'a'],
    ['{"a":[1,12345678901234567890]}', 'a[1]'],
    ['{"a":[{"b":[0,-0]}]}', 'a[0].b[1]'],
    ['{"a":0.12345678901234567890}', 'a'],
    ['{"a":"\\ud800"}', 'a'],
    ['{"__proto__":1}', '__proto__'],
    ['{"_\\u005fproto__":1}', '__proto__'],
    ['10000.000023607007', ''],
  ])('refuses %s, which would not survive', (text, path) => {
    expect(refused(() => parseJson(text))).toMatchObject({
      kind: 'invalid',
      error: 'invalid_arguments',
    });
    expect(refused(() => parseJson(text)).issues[0]?.path).toBe(path);
  });

  it.each([
    '0.1',
    '1e3',
    '1E3',
    '1.50',
    '9007199254740991',
    '1e-7',
    '123456789012345.5',
    '{"a":"9007199254740993"}',
    '100000000000000000000e-10',
  ])('takes %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('refuses what is no JSON and says where', () => {
    expect(refused(() => parseJson('{"a":')).error).toBe('invalid_json');
  });

  it('property: takes every JSON that JSON.stringify wrote, unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/-0(?![.\d])/.test(text) && !text.includes('__proto__') && text.isWellFormed());
        fc.pre(!/\d{17}/.test(text) && !/e\+/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('canonicalJson (B45)', () => {
  it('orders keys by UTF-16 units, whatever order they came in', () => {
    expect(canonicalJson({ b: 1, a: [true, null], '10': 1, '9': 2 })).toBe(
      '{"10":1,"9":2,"a":[true,null],"b":1}',
    );
  });

  it.each([
    ['undefined', { a: undefined }],
    ['NaN', { a: NaN }],
    ['infinity', [Infinity]],
    ['an integer beyond 2^53', { a: 2 ** 53 }],
    ['half a surrogate pair', 'x\ud800'],
    ['half a surrogate pair in a name', { 'x\udc00': 1 }],
    ['a function', { a: () => 1 }],
    ['a big integer', { a: 1n }],
  ])('refuses %s', (_what, value) => {
    expect(refused(() => canonicalJson(value)).kind).toBe('invalid');
  });

  it('refuses nesting that would exhaust the stack', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100; i++) deep = [deep];
    expect(refused(() => canonicalJson(deep)).issues[0]?.problem).toContain('deeper');
  });

  it('property: parsing and canonising again gives the same text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        let text: string;
        try {
          text = canonicalJson(value);
        } catch {
          return;
        }
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });
});

describe('derivedId', () => {
  it('depends on its parts and on where one ends', () => {
    expect(derivedId('a', 'bc')).toBe(derivedId('a', 'bc'));
    expect(derivedId('ab', 'c')).not.toBe(derivedId('a', 'bc'));
    expect(derivedId('a')).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-b[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});
