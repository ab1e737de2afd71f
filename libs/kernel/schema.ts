import { Type as t, type Static, type TSchema } from '@sinclair/typebox';
import { Ajv } from 'ajv';

/** Event payload schemas are written with TypeBox: one declaration gives the static type and the JSON Schema. */
export { t, type Static, type TSchema };

const ajv = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true });

/** Compiles a schema; the result returns what is wrong with a value, or nothing. */
export function compile(schema: TSchema): (value: unknown) => string | undefined {
  const validate = ajv.compile(schema);
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors));
}
