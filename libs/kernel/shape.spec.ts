import { describe, expect, it } from '@jest/globals';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsIn,
  IsString,
  IsUUID,
  Matches,
  Min,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Entry, Everything, Nothing } from '../../test/support/shapes.js';
import { Refusal } from './refusal.js';
import { shapeOf } from './shape.js';

const entry = { effective_from: '2026-01-31', value: 'net 30' };
const whole = { name: 'n', records: [entry], note: null };

function refused(dto: new () => object, value: unknown): Refusal {
  try {
    shapeOf(dto).parse(value);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was accepted');
}

function issues(value: unknown): Record<string, string> {
  const body = refused(Everything, value).body();
  return Object.fromEntries(body.issues.map(({ path, problem }) => [path, problem]));
}

describe('schema', () => {
  const { schema } = shapeOf(Everything);

  it('is one plain object schema that strict clients take', () => {
    const text = JSON.stringify(schema);
    expect(text).not.toMatch(/\$ref|\$schema|x-check|exclusive|"type":\[|"format"|allOf|oneOf/);
    expect(schema.type).toBe('object');
    expect(schema.additionalProperties).toBe(false);
    expect(schema.required?.toSorted()).toEqual(['name', 'note', 'records']);
    expect(schema.properties['records']).toEqual({
      type: 'array',
      minItems: 1,
      maxItems: 3,
      items: {
        type: 'object',
        properties: {
          effective_from: expect.objectContaining({ type: 'string', pattern: expect.any(String) }),
          value: { type: 'string', minLength: 2, maxLength: 12 },
          rank: { type: 'integer', minimum: 1, maximum: 9 },
        },
        required: ['effective_from', 'value'],
        additionalProperties: false,
      },
    });
    expect(schema.properties['note']).toEqual({
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 5, pattern: '^[^x.]*$' },
        { type: 'null' },
      ],
    });
    expect(schema.properties['scope']).toMatchObject({
      type: 'object',
      additionalProperties: { type: 'string' },
    });
    expect(schema.properties['any']).toEqual({ description: 'Any JSON value.' });
    expect(schema.properties['best']).toMatchObject({ description: 'The best one.' });
    expect(schema.properties['name']).toMatchObject({ description: 'How it is called.' });
    expect(schema.properties['level']).toEqual({ type: 'number', enum: [1, 2, 3] });
  });

  it('is the same object for the same class, and empty for an empty class', () => {
    expect(shapeOf(Everything)).toBe(shapeOf(Everything));
    expect(shapeOf(Nothing).schema).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
    expect(shapeOf(Nothing).parse({})).toEqual({});
    expect(refused(Nothing, { a: 1 }).issues[0]?.problem).toBe(
      'is not a field of Nothing; allowed: none',
    );
  });

  it('of a result has no length limits, which escaping could break', () => {
    expect(JSON.stringify(shapeOf(Everything).resultSchema)).not.toMatch(/maxLength|minLength/);
    expect(shapeOf(Everything).misfit({ ...whole, name: 'n'.repeat(99) })).toBeUndefined();
    expect(shapeOf(Everything).misfit({ ...whole, name: 1 })).toContain('/name');
  });

  it('refuses classes that have no portable schema', () => {
    class Loop {
      @ValidateNested() @Type(() => Loop) next!: Loop;
    }
    class Conditional {
      @ValidateIf(() => true) @IsString() a!: string;
    }
    class Foreign {
      @IsUUID() id!: string;
    }
    class Typeless {
      @Min(1) n!: number;
    }
    class HalfList {
      @IsArray() @ValidateNested() @Type(() => Entry) entries!: Entry[];
    }
    class Flags {
      @Matches(/a/i) a!: string;
    }
    class Mixed {
      @IsIn(['a', 1]) a!: string;
    }
    for (const dto of [Loop, Conditional, Foreign, Typeless, HalfList, Flags, Mixed])
      expect(() => shapeOf<object>(dto)).toThrow(dto === Loop ? /holds itself/ : `${dto.name}.`);
  });
});

describe('parse', () => {
  it('returns the very value', () => {
    const value = { ...whole, level: 1.0, any: null, flag: false, maybe: null };
    expect(shapeOf(Everything).parse(value)).toBe(value);
  });

  it('names every wrong field with its path', () => {
    expect(
      issues({
        name: ' ',
        extra: 1,
        note: null,
        records: [entry, { effective_from: '2026-02-30', value: 'v', rank: 1.5, odd: true }],
        tags: ['a', 7, 'b', null],
        flag: 'false',
        colour: 'green',
        best: null,
      }),
    ).toEqual({
      name: 'must be text of 1 to 40 characters, well-formed and not blank',
      extra: expect.stringMatching(/^is not a field of Everything; allowed: records, best, /),
      'records[1].effective_from': expect.stringContaining('must be a date like'),
      'records[1].value': 'must be a value of 2 to 12 characters, well-formed and not blank',
      'records[1].rank': 'must be an integer number',
      'records[1].odd': 'is not a field of Entry; allowed: effective_from, value, rank',
      'tags[1]': 'must be a string',
      'tags[3]': 'must be a string',
      flag: 'must be a boolean value',
      colour: 'must be one of the following values: red, blue',
      best: 'must not be null; leave it out instead',
    });
  });

  it.each(['\u200b', '\u00ad\u2060 ', '\ufeff'])(
    'B33: %j is no text and no name: nothing of it can be seen',
    (name) => {
      const problem = expect.stringContaining('blank');
      expect(issues({ ...whole, name })).toEqual({ name: problem });
      expect(issues({ ...whole, scope: { [name]: 'EU' } })).toEqual({ scope: problem });
      expect(issues({ ...whole, scope: { region: name } })).toEqual({ scope: problem });
    },
  );

  it('B33: a scope that names one dimension twice is refused; other names are apart', () => {
    const twice = expect.stringContaining('no name twice in another spelling');
    for (const other of ['REGION', 'region ', 'reg\u00adion', 'ｒegion'])
      expect(issues({ ...whole, scope: { region: 'EU', [other]: 'US' } })).toEqual({
        scope: twice,
      });
    const value = { ...whole, scope: { region: 'EU', regions: 'EU', team: 'EU' } };
    expect(shapeOf(Everything).parse(value)).toBe(value);
  });

  it('names what is missing or of the wrong kind', () => {
    expect(issues({})).toEqual({
      name: 'is required',
      records: 'is required',
      note: 'is required',
    });
    expect(issues({ ...whole, records: entry, tags: 'a', best: [entry] })).toEqual({
      records: 'must be a list',
      tags: 'must be a list',
      best: 'must be an object',
    });
    for (const value of [null, [], 'x', 1])
      expect(issues(value)).toEqual({ '': 'must be an object' });
  });

  it('says what went wrong and what to do', () => {
    expect(refused(Everything, { ...whole, name: 1, flag: 2 }).body()).toMatchObject({
      error: 'invalid_arguments',
      message: expect.stringMatching(/^(name|flag): .*\(and 1 more\)$/),
      fix: expect.any(String),
    });
  });

  it.each(['constructor', 'hasOwnProperty', 'toString', 'valueOf'])('knows no field %s', (name) => {
    expect(issues({ ...whole, [name]: 1 })).toHaveProperty([name]);
  });

  it('caps what it lists', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, i]));
    expect(refused(Everything, { ...whole, ...many }).issues).toHaveLength(50);
  });
});
