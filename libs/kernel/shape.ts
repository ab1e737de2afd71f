import { Ajv, type ErrorObject } from 'ajv';
import { Refusal } from './refusal.js';
import { issuesOf } from './shape-issues.js';
import {
  CHECK,
  modelOf,
  type JsonSchemaObject,
  type Model,
  type Predicate,
} from './shape-schema.js';

export type { JsonSchema, JsonSchemaObject } from './shape-schema.js';

/** A DTO class as what the doors need of it: its published schema and its check. */
export interface Shape<T> {
  readonly name: string;
  /** What callers may send. */
  readonly schema: JsonSchemaObject;
  /** What callers may expect: `schema` without length limits, because unseen characters are escaped on the way out. */
  readonly resultSchema: JsonSchemaObject;
  /** The value itself, typed, never converted. Else a Refusal `invalid_arguments` with an issue for every wrong field. */
  parse(value: unknown): T;
  /** What does not fit `resultSchema`; undefined when all does. For what this program made itself. */
  misfit(value: unknown): string | undefined;
}

const MAX_ISSUES = 50;
/** The schemas are made here: to hold each against its meta-schema is the tests' part. */
const OPTIONS = { strict: true, allowUnionTypes: false, validateSchema: false } as const;

/** Its verdict is taken for every message. */
const quick = withChecks(new Ajv(OPTIONS));
/** Finds all that is wrong, for the words of a refusal. */
const thorough = withChecks(new Ajv({ ...OPTIONS, allErrors: true }));

function withChecks(ajv: Ajv): Ajv {
  return ajv.addKeyword({
    keyword: CHECK,
    validate: (predicates: readonly Predicate[], value: unknown) =>
      predicates.every((holds) => holds(value)),
  });
}

const shapes = new Map<new () => object, Shape<object>>();

/**
 * The shape of a DTO class: read and checked for portability at the first call. Its checks are compiled when the first value
 * comes: compiling all of them was a third of the time in which a server starts.
 */
export function shapeOf<T extends object>(dto: new () => T): Shape<T> {
  const known = shapes.get(dto);
  if (known) return known as Shape<T>;
  const shape = compileShape<T>(modelOf(dto));
  shapes.set(dto, shape);
  return shape;
}

function compileShape<T>(model: Model): Shape<T> {
  const fits = once(() => quick.compile(model.internal));
  const all = once(() => thorough.compile(model.internal));
  const result = once(() => quick.compile(model.result));
  return {
    name: model.name,
    schema: model.published,
    resultSchema: model.result,
    parse(value) {
      if (fits()(value)) return value as T;
      const errors = all()(value) ? [] : (all().errors ?? []);
      throw refusal(model, value, errors);
    },
    misfit(value) {
      return result()(value) ? undefined : quick.errorsText(result().errors);
    },
  };
}

function refusal(model: Model, value: unknown, errors: readonly ErrorObject[]): Refusal {
  const found = issuesOf(model, value, errors);
  const issues = found.slice(0, MAX_ISSUES);
  const [first = { path: '', problem: 'is not as the schema says' }] = issues;
  const where = first.path === '' ? 'the arguments' : first.path;
  const others = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  return new Refusal('invalid', 'invalid_arguments', `${where}: ${first.problem}${others}`, {
    path: first.path,
    issues,
    fix: 'correct the fields named in issues and send the request again',
  });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
