import 'reflect-metadata';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  buildMessage,
  isObject,
  type ValidationOptions,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isVisible, nameKey } from './text.js';
import { DAY_WORDS, isWhen } from './time.js';

/**
 * A constraint with one meaning for both sides: `holds` decides in the compiled validator and in class-validator,
 * `schema` is what is published of it. `holds` must be complete (it sees any JSON value) and never stricter than `schema` is loose:
 * whatever `holds` admits, `schema` admits.
 */
export interface Rule {
  readonly schema: Readonly<Record<string, unknown>>;
  holds(value: unknown): boolean;
  /** Completes "<field> …", e.g. "must be a date". */
  readonly problem: string;
}

/** Name under which class-validator and the schema converter know every `Rule`. */
export const CHECKED = 'checked';
const NULLABLE = Symbol('precedent:nullable');

/** Makes a rule a decorator; `{ each: true }` applies it to each item of a list. */
export function Checked(rule: Rule, options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: CHECKED,
      constraints: [rule],
      validator: {
        validate: (value: unknown) => rule.holds(value),
        defaultMessage: buildMessage((each) => `${each}$property ${rule.problem}`, options),
      },
    },
    options,
  );
}

/** What a field or class means, for the reader of the schema. The rule's own words on its form follow. */
export function Doc(text: string): PropertyDecorator & ClassDecorator {
  return JSONSchema((source) => {
    const own = 'properties' in source ? undefined : source.description;
    return { ...source, description: own === undefined ? text : `${text} ${own}` };
  }) as PropertyDecorator & ClassDecorator;
}

/** Several decorators as one, for a field that many shapes have. The last one is what stands on top when they are written out. */
export function combined(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, key) => {
    for (const decorate of decorators) decorate(target, key);
  };
}

/** An object of that DTO class, named in a function because it may be declared further down. */
export function Nested(dto: () => new () => object): PropertyDecorator {
  return combined(Type(dto), ValidateNested());
}

/** A list of objects of that DTO class, with so many items. */
export function ListOf(
  dto: () => new () => object,
  { min, max }: { min?: number; max?: number } = {},
): PropertyDecorator {
  return combined(
    Type(dto),
    ValidateNested({ each: true }),
    ...(max === undefined ? [] : [ArrayMaxSize(max)]),
    ...(min === undefined ? [] : [ArrayMinSize(min)]),
    IsArray(),
  );
}

/** The field may be null. Without it null is refused, in optional fields too: leave them out. */
export function OrNull(): PropertyDecorator {
  const condition = ValidateIf((_object, value) => value !== null);
  return (target, key) => {
    Reflect.defineMetadata(NULLABLE, true, target.constructor, key);
    condition(target, key);
  };
}

export function isNullable(target: object, key: string): boolean {
  return Reflect.getMetadata(NULLABLE, target, key) === true;
}

/** A calendar date, or an instant with its offset. */
export function IsWhen(options?: ValidationOptions): PropertyDecorator {
  return Checked(WHEN, options);
}

/** A calendar date, an instant with its offset, or `today` or `yesterday`. */
export function IsWhenOrDay(options?: ValidationOptions): PropertyDecorator {
  return Checked(WHEN_OR_DAY, options);
}

/** A log position as decimal digits: too large for a JSON number. */
export function IsPosition(options?: ValidationOptions): PropertyDecorator {
  return Checked(POSITION, options);
}

/** A point of recorded time: a date, an instant or a log position. */
export function IsKnownAt(options?: ValidationOptions): PropertyDecorator {
  return Checked(KNOWN_AT, options);
}

/** Dimension → value, at most 16; names and values of 1 to 200 characters, no two names of one meaning (B33). */
export function IsScope(options?: ValidationOptions): PropertyDecorator {
  return Checked(SCOPE, options);
}

/** Any JSON value, null included, at most 64 levels deep; `max` characters of its JSON without spaces at most. */
export function IsValue(
  { max = Infinity }: { max?: number } = {},
  options?: ValidationOptions,
): PropertyDecorator {
  if (max === Infinity) return Checked(VALUE, options);
  return Checked(
    {
      schema: { description: `Any JSON value of at most ${max} characters.` },
      holds: (value) => isJson(value) && JSON.stringify(value).length <= max,
      problem: `${VALUE.problem}, of at most ${max} characters as JSON`,
    },
    options,
  );
}

/** Well-formed text of which something can be seen. Lengths count UTF-16 units (`string.length`); `what` names it in the refusal. */
export function IsText(
  limits: { min?: number; max?: number; what?: string } = {},
  options?: ValidationOptions,
): PropertyDecorator {
  const { min = 1, max = Number.MAX_SAFE_INTEGER, what = 'text' } = limits;
  const bounded = limits.max !== undefined;
  return Checked(
    {
      schema: { type: 'string', minLength: min, ...(bounded ? { maxLength: max } : {}) },
      holds: (value) =>
        typeof value === 'string' &&
        value.length >= min &&
        value.length <= max &&
        value.isWellFormed() &&
        isVisible(value),
      problem: `must be ${what} of ${bounded ? `${min} to ${max}` : `at least ${min}`} characters, well-formed and not blank`,
    },
    options,
  );
}

const DATE = '\\d{4}-\\d{2}-\\d{2}';
const INSTANT = `${DATE}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d{2}:\\d{2})`;
const DIGITS = '0|[1-9]\\d{0,19}';
const POSITION_PATTERN = new RegExp(`^(?:${DIGITS})$`);

function isPosition(value: unknown): value is string {
  return typeof value === 'string' && POSITION_PATTERN.test(value);
}

const WHEN: Rule = {
  schema: {
    type: 'string',
    pattern: `^(?:${DATE}|${INSTANT})$`,
    description: 'A date like 2026-01-31, or an instant with its offset like 2026-01-31T09:00:00Z.',
  },
  holds: (value) => typeof value === 'string' && isWhen(value),
  problem: 'must be a date like 2026-01-31 or an instant with its offset like 2026-01-31T09:00:00Z',
};

const WHEN_OR_DAY: Rule = {
  schema: {
    type: 'string',
    pattern: `^(?:${DAY_WORDS.join('|')}|${DATE}|${INSTANT})$`,
    description:
      'A date like 2026-01-31, an instant like 2026-01-31T09:00:00Z, or a word: today, yesterday.',
  },
  holds: (value) => WHEN.holds(value) || DAY_WORDS.includes(value as string),
  problem:
    'must be a date like 2026-01-31, an instant like 2026-01-31T09:00:00Z, or today or yesterday',
};

const POSITION: Rule = {
  schema: {
    type: 'string',
    pattern: `^(?:${DIGITS})$`,
    description: 'A log position in decimal digits.',
  },
  holds: isPosition,
  problem: 'must be a log position: a string of decimal digits',
};

const KNOWN_AT: Rule = {
  schema: {
    type: 'string',
    pattern: `^(?:${DATE}|${INSTANT}|${DIGITS})$`,
    description:
      'A date like 2026-01-31, an instant like 2026-01-31T09:00:00Z, or a log position in decimal digits.',
  },
  holds: (value) => WHEN.holds(value) || isPosition(value),
  problem:
    'must be a date like 2026-01-31, an instant like 2026-01-31T09:00:00Z or a log position in decimal digits',
};

const MAX_DIMENSIONS = 16;
const MAX_NAME = 200;

function isName(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length <= MAX_NAME &&
    value.isWellFormed() &&
    isVisible(value)
  );
}

/** Names of one meaning would be one dimension with two values. */
function areApart(names: readonly string[]): boolean {
  return names.length < 2 || new Set(names.map(nameKey)).size === names.length;
}

const SCOPE: Rule = {
  schema: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Dimension names and their values, at most 16, such as {"region": "eu"}.',
  },
  holds: (value) => {
    if (!isObject<Record<string, unknown>>(value) || typeof value === 'function') return false;
    const entries = Object.entries(value);
    return (
      entries.length <= MAX_DIMENSIONS &&
      entries.every(([name, item]) => name !== '__proto__' && isName(name) && isName(item)) &&
      areApart(Object.keys(value))
    );
  },
  problem:
    'must be an object of at most 16 names, each with a string of 1 to 200 characters, none blank, and no name twice in another spelling',
};

const MAX_DEPTH = 64;

function isJson(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (value === null || typeof value === 'boolean') return true;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  if (typeof value !== 'object') return false;
  return Object.entries(value).every(
    ([name, item]) => name !== '__proto__' && name.isWellFormed() && isJson(item, depth + 1),
  );
}

const VALUE: Rule = {
  schema: { description: 'Any JSON value.' },
  holds: (value) => isJson(value),
  problem: `must be a JSON value of at most ${MAX_DEPTH} levels without rounded numbers`,
};
