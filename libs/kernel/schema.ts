import { createRequire } from 'node:module';
import type { Static, TSchema, Type } from '@sinclair/typebox';
import type { Ajv, Options, ValidateFunction } from 'ajv';

export type { Static, TSchema };

type Builders = Pick<
  typeof Type,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
>;

/** On a schema, not in it: the field that has this schema may be absent. */
const OPTIONAL = Symbol('optional');

interface Plain {
  readonly [OPTIONAL]?: true;
  readonly [keyword: string]: unknown;
}

/** TypeBox's builders in plain objects; schema.spec.ts compares the two. */
const builders = {
  Array: (items: Plain, options?: Plain) => ({ ...options, type: 'array', items }),
  Boolean: (options?: Plain) => ({ ...options, type: 'boolean' }),
  Integer: (options?: Plain) => ({ ...options, type: 'integer' }),
  Literal: (value: unknown, options?: Plain) => ({ ...options, const: value, type: typeof value }),
  Null: (options?: Plain) => ({ ...options, type: 'null' }),
  Object(properties: Readonly<Record<string, Plain>>, options?: Plain) {
    const required = Object.keys(properties).filter((name) => !properties[name]?.[OPTIONAL]);
    return { ...options, type: 'object', ...(required.length > 0 && { required }), properties };
  },
  Optional: (schema: Plain) => ({ ...schema, [OPTIONAL]: true }),
  Record: (_key: Plain, value: Plain, options?: Plain) => ({
    ...options,
    type: 'object',
    patternProperties: { '^(.*)$': value },
  }),
  String: (options?: Plain) => ({ ...options, type: 'string' }),
  Union: (types: readonly Plain[], options?: Plain) =>
    types.length === 1 ? { ...options, ...types[0] } : { ...options, anyOf: types },
  Unknown: (options?: Plain) => ({ ...options }),
};

/**
 * Event payload schemas are written in the terms of TypeBox: one declaration gives the static type and the JSON Schema. Only
 * its types are TypeBox's own: loading its 200 modules was a fifth of the time of a short command.
 */
export const t = builders as unknown as Builders;

/** The result returns what is wrong with a value, or nothing. Compiled at the first value: readers of a ledger never need it. */
export function compile(schema: TSchema): (value: unknown) => string | undefined {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv().compile(schema);
    return validate(value) ? undefined : ajv().errorsText(validate.errors);
  };
}

let loaded: Ajv | undefined;

/** Loaded with the first schema that is compiled, for the same reason. */
function ajv(): Ajv {
  if (loaded) return loaded;
  const { Ajv: Made } = createRequire(import.meta.url)('ajv') as {
    Ajv: new (options: Options) => Ajv;
  };
  // The builders above make valid schemas, and the meta-schema takes longer to compile than one of them.
  loaded = new Made({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    validateSchema: false,
  });
  return loaded;
}
