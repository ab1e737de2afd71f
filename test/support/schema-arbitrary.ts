import fc from 'fast-check';

/** The part of JSON Schema that the product's own schemas use. */
export interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

const LONGEST = 40;

/** Values that mostly fit a schema: what it cannot express (a date that exists, a quote that is in its source) may be wrong. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(valuesOf));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return stringsOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 1_000 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const minLength = schema.minItems ?? 0;
      const maxLength = Math.max(minLength, Math.min(schema.maxItems ?? 3, 3));
      return fc.array(valuesOf(schema.items ?? {}), { minLength, maxLength });
    }
    case 'object':
      return objectsOf(schema);
    default:
      return fc.jsonValue();
  }
}

function stringsOf({ pattern, minLength = 0, maxLength = LONGEST }: Schema): fc.Arbitrary<string> {
  const max = Math.max(minLength, Math.min(maxLength, LONGEST));
  const words = fc.string({ minLength, maxLength: max, unit: 'binary' });
  const dates = fc.constantFrom('2026-01-01', '2026-02-30', '2026-01-01T00:00:00Z', '0', '17');
  const plain = fc.constantFrom('topic', 'a b', 'é', 'net 30', '../..', '%00', "'--", '\u202e');
  return pattern === undefined
    ? fc.oneof(words, { weight: 4, arbitrary: plain }, dates)
    : fc.oneof(dates, plain, fc.stringMatching(new RegExp(pattern)));
}

function objectsOf({
  properties = {},
  required = [],
  additionalProperties,
}: Schema): fc.Arbitrary<object> {
  const known = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, valuesOf(one)])),
    { requiredKeys: required },
  );
  if (typeof additionalProperties !== 'object') return known;
  return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), valuesOf(additionalProperties), {
    maxKeys: 3,
  });
}

/** A fitting object of which something may be left out, replaced by anything, or added. */
export function nearly(schema: Schema): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(schema.properties ?? {});
  const anything = fc.oneof(fc.jsonValue(), fc.constantFrom('false', 1e21, '', null, [], {}));
  const change = fc.record({
    what: fc.constantFrom('nothing', 'nothing', 'drop', 'replace', 'add'),
    name: fc.constantFrom(...(names.length > 0 ? names : ['x'])),
    value: anything,
  });
  return fc.tuple(objectsOf(schema), change).map(([value, { what, name, value: other }]) => {
    const changed: Record<string, unknown> = { ...value };
    if (what === 'drop') Reflect.deleteProperty(changed, name);
    if (what === 'replace') changed[name] = other;
    if (what === 'add') changed['unexpected'] = other;
    return changed;
  });
}
