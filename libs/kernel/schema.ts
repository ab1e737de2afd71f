import { Type as t, type Static, type TSchema } from '@sinclair/typebox';
import { Ajv, type ValidateFunction } from 'ajv';

/** Event payload schemas are written with TypeBox: one declaration gives the static type and the JSON Schema. */
export { t, type Static, type TSchema };

const ajv = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true });

/** The result returns what is wrong with a value, or nothing. Compiled at the first value: readers of a ledger never need it. */
export function compile(schema: TSchema): (value: unknown) => string | undefined {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv.compile(schema);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}
