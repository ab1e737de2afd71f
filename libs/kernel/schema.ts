import { createRequire } from 'node:module';
import { Type as t, type Static, type TSchema } from '@sinclair/typebox';
import type { Ajv, Options, ValidateFunction } from 'ajv';

/** Event payload schemas are written with TypeBox: one declaration gives the static type and the JSON Schema. */
export { t, type Static, type TSchema };

/** The result returns what is wrong with a value, or nothing. Compiled at the first value: readers of a ledger never need it. */
export function compile(schema: TSchema): (value: unknown) => string | undefined {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv().compile(schema);
    return validate(value) ? undefined : ajv().errorsText(validate.errors);
  };
}

let loaded: Ajv | undefined;

/** Loaded with the first schema that is compiled: short commands compile none. */
function ajv(): Ajv {
  if (loaded) return loaded;
  const { Ajv: Made } = createRequire(import.meta.url)('ajv') as {
    Ajv: new (options: Options) => Ajv;
  };
  // TypeBox makes valid schemas, and the meta-schema takes longer to compile than one of them.
  loaded = new Made({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    validateSchema: false,
  });
  return loaded;
}
