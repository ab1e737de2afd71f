import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Entry, Everything, Nothing } from '../../test/support/shapes.js';
import { Refusal } from './refusal.js';
import { issuesOf } from './shape-issues.js';
import { modelOf } from './shape-schema.js';
import { shapeOf } from './shape.js';

/** Nearly always right: a value has many fields. */
const mostly = <T, U>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<U>) =>
  fc.oneof({ arbitrary: right, weight: 80 }, { arbitrary: wrong, weight: 1 });
const optional = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });
const json = fc.jsonValue({ maxDepth: 3 });
/** fast-check likes integers that a double rounds; those are refused. */
const exact = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.nat()),
);
const text = mostly(
  fc.constantFrom('ab', 'net 30', '😀a', 'é', 'a b', '\u0000ab'),
  fc.oneof(
    fc.string({ maxLength: 14 }),
    fc.string({ unit: 'grapheme', maxLength: 14 }),
    fc.constantFrom(
      '',
      ' ',
      '\u00a0',
      '\ud800',
      '😀',
      '😀'.repeat(6),
      'x',
      '\ufe0f',
      'a'.repeat(13),
    ),
  ),
);
const when = mostly(
  fc.oneof(
    fc.constantFrom('2026-01-31', '2024-02-29', '2026-01-31T09:00+05:30', '2026-01-31T24:00:00Z'),
    fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((d) => d.toISOString()),
  ),
  fc.oneof(
    fc.constantFrom('2026-02-30', '2026-01-31T09:00', '2026-01-31T09:00:00+25:00', '0', '007', '٢'),
    fc.constantFrom('18446744073709551615', '2026-01-31\n', '1'.repeat(21)),
    text,
  ),
);
const position = mostly(fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String), when);
const scope = mostly(
  fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), { maxKeys: 16 }),
  fc.oneof(
    fc.dictionary(text, text, { maxKeys: 18 }),
    fc.constant({ long: 'x'.repeat(201) }),
    fc.constant(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`d${i}`, 'v']))),
  ),
);
const entries = fc
  .record({
    effective_from: when,
    value: text,
    rank: optional(mostly(fc.integer({ min: 1, max: 9 }), json)),
  })
  .map(dropUndefined);
const everything = fc
  .record({
    name: text,
    known_at: optional(fc.oneof(when, position)),
    records: mostly(fc.array(entries, { minLength: 1, maxLength: 3 }), fc.array(entries)),
    best: optional(entries),
    scope: optional(scope),
    any: optional(mostly(exact, json)),
    anys: optional(fc.array(mostly(exact, json))),
    at: optional(position),
    colour: optional(mostly(fc.constantFrom('red', 'blue'), fc.constant('green'))),
    level: optional(mostly(fc.constantFrom(1, 2, 2.0, 3), fc.constantFrom(4, '1'))),
    flag: optional(mostly(fc.boolean(), fc.constantFrom('false', 0))),
    ratio: optional(mostly(fc.double({ min: 0, noNaN: true, max: 1e9 }), fc.double())),
    tags: optional(fc.array(text, { maxLength: 5 })),
    letters: optional(fc.array(mostly(fc.constantFrom('a', 'b'), text))),
    note: fc.option(mostly(fc.constantFrom('ab', 'é'), text)),
    maybe: optional(fc.option(entries)),
    facts: optional(fc.dictionary(fc.string(), json)),
  })
  .map(dropUndefined);

function dropUndefined(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
}

/** Replaces, removes, adds, wraps or unwraps something at a random place. */
function mutate(value: unknown, steps: readonly number[], put: unknown, how: number): unknown {
  if (typeof value !== 'object' || value === null || steps.length === 0) return put;
  const copy = structuredClone(value) as Record<string, unknown>;
  const keys = Object.keys(copy);
  const key = keys[(steps[0] ?? 0) % (keys.length + 1)];
  if (key === undefined) {
    if (!Array.isArray(copy)) copy[`new${how}`] = put;
    return copy;
  }
  if (how === 1 && !Array.isArray(copy)) Reflect.deleteProperty(copy, key);
  else if (how === 2)
    copy[key] = Array.isArray(copy[key]) ? (copy[key] as unknown[])[0] : [copy[key]];
  else copy[key] = mutate(copy[key], steps.slice(1), put, how);
  return copy;
}

describe('class-validator and the compiled schema', () => {
  const steps = fc.array(fc.nat(20), { maxLength: 3 });

  /** True where the value was accepted. */
  function agree(dto: new () => object, value: unknown): boolean {
    const model = modelOf(dto);
    let fits = true;
    try {
      shapeOf(dto).parse(value);
    } catch (error) {
      expect(error).toBeInstanceOf(Refusal);
      fits = false;
    }
    const words = issuesOf(model, value, []);
    if ((words.length === 0) !== fits)
      throw new Error(
        `schema: ${fits}, words: ${JSON.stringify(words)} on ${JSON.stringify(value)}`,
      );
    // What the server takes, the published schema takes too.
    if (fits) expect(shapeOf(dto).misfit(value)).toBeUndefined();
    return fits;
  }

  it.each([
    ['Everything', Everything, everything],
    ['Entry', Entry, entries],
  ] as const)('agree on %s', (_name, dto, valid) => {
    let accepted = 0;
    fc.assert(
      fc.property(valid, steps, json, fc.nat(3), fc.boolean(), (value, path, put, how, spoil) => {
        if (agree(dto, spoil ? mutate(value, path, put, how) : value)) accepted += 1;
      }),
      { numRuns: 3_000 },
    );
    // A test that sees one verdict only proves nothing.
    expect(accepted).toBeGreaterThan(300);
    expect(accepted).toBeLessThan(2_700);
  });

  it('agree on any JSON', () => {
    fc.assert(
      fc.property(json, (value) => {
        agree(Everything, value);
        agree(Nothing, value);
      }),
    );
  });
});
