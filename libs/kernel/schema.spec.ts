import { expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { compile, t } from './schema.js';

/** The same declarations with both. */
const CASES: readonly ((b: typeof t) => unknown)[] = [
  (b) => b.Array(b.String()),
  (b) => b.Array(b.Integer(), { minItems: 1, uniqueItems: true }),
  (b) => b.Boolean(),
  (b) => b.Boolean({ description: 'whether' }),
  (b) => b.Integer({ minimum: 0 }),
  (b) => b.Literal('a'),
  (b) => b.Literal(1),
  (b) => b.Literal(true, { description: 'always' }),
  (b) => b.Null(),
  (b) => b.Null({ description: 'nothing' }),
  (b) => b.Object({}),
  (b) => b.Object({ a: b.String(), b: b.Optional(b.Integer()) }, { additionalProperties: false }),
  (b) => b.Object({ a: b.Optional(b.String()) }),
  (b) => b.Object({ a: b.Object({ b: b.Optional(b.Array(b.Null())) }) }),
  (b) => b.Optional(b.Union([b.Literal('a'), b.Literal('b')])),
  (b) => b.Record(b.String(), b.String()),
  (b) => b.Record(b.String(), b.Integer(), { maxProperties: 2 }),
  (b) => b.String({ minLength: 1, pattern: '^a' }),
  (b) => b.Union([b.String(), b.Null()]),
  (b) => b.Union([b.String(), b.Integer()], { description: 'either' }),
  (b) => b.Union([b.Literal('only')]),
  (b) => b.Union([b.Literal('only', { description: 'inner' })], { description: 'outer' }),
  (b) => b.Unknown(),
  (b) => b.Unknown({ description: 'anything' }),
];

it.each(CASES.map((build) => [JSON.stringify(build(Type)), build] as const))(
  '%s is what TypeBox makes',
  (_, build) => {
    expect(JSON.stringify(build(t))).toBe(JSON.stringify(build(Type)));
  },
);

it('an optional schema leaves the one it is made of required', () => {
  const name = t.String();
  const schema = t.Object({ may: t.Optional(name), must: name });
  expect(schema.required).toEqual(['must']);
});

it('a check tells what does not fit', () => {
  const misfit = compile(t.Object({ a: t.Integer(), b: t.Optional(t.String()) }));
  expect(misfit({ a: 1 })).toBeUndefined();
  expect(misfit({ a: 1, b: 'x' })).toBeUndefined();
  expect(misfit({ a: 'x', b: 2 })).toMatch(/a must be integer.*b must be string/);
  expect(misfit({})).toMatch(/required property 'a'/);
});
