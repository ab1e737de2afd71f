import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, cutAtDepth, derivedId, parseJson } from './json.js';
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

  it.each([
    ['arrays', `${'['.repeat(64)}1${']'.repeat(64)}`, `${'['.repeat(65)}1${']'.repeat(65)}`],
    [
      'objects',
      `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`,
      `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
    ],
  ])('takes 64 %s inside one another and refuses the next one by its path', (_what, good, bad) => {
    expect(parseJson(good)).toEqual(JSON.parse(good));
    const refusal = refused(() => parseJson(bad));
    expect(refusal.path).toMatch(/^(?:(?:\[0\]){64}|(?:a\.){63}a)$/);
    expect(refusal.issues[0]?.problem).toBe('is nested deeper than 64');
  });

  it('refuses sixteen million levels as it refuses 65, without parsing them', () => {
    const bad = '['.repeat(16_000_000);
    const from = performance.now();
    expect(refused(() => parseJson(bad)).path).toBe('[0]'.repeat(64));
    // The parser itself takes seconds for this.
    expect(performance.now() - from).toBeLessThan(500);
  });

  it('brackets in strings are no nesting, whatever is escaped', () => {
    const text = JSON.stringify({ a: '['.repeat(100), 'b{{': `\\"${'{'.repeat(100)}\\` });
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect(cutAtDepth(`"${'['.repeat(100)}`)).toBe(`"${'['.repeat(100)}`);
    const numbered = `{"9":1,"1":${'['.repeat(64)}`;
    expect(refused(() => parseJson(numbered)).path).toBe(`1${'[0]'.repeat(63)}`);
  });

  it('property: what JSON.stringify wrote is never cut, and is cut where it is one level too deep', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.string(), (value, key) => {
        const text = JSON.stringify(value);
        expect(cutAtDepth(text)).toBe(text);
        const around = JSON.stringify({ [key]: value, deep: 0 }).replace(/0\}$/, '');
        const cut = cutAtDepth(`${around}${'['.repeat(70)}`);
        expect(Object.keys(JSON.parse(cut) as object)).toContain('deep');
      }),
    );
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
