import { createRequire } from 'node:module';
import { getMetadataStorage } from 'class-validator';
import { targetConstructorToSchema } from 'class-validator-jsonschema';
import { CHECKED, isNullable, type Rule } from './shape-decorators.js';

export type Dto = new () => object;
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The published schema of a DTO class: draft 2020-12 without refs, root combinators or unions of types. */
export interface JsonSchemaObject extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly nullable: boolean;
  /** The value is an array; `child` and the rules speak of its items. */
  readonly list: boolean;
  readonly child: Model | undefined;
}

/** A DTO class as read from its decorators, once. */
export interface Model {
  readonly dto: Dto;
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Published form and rules together, unresolved; what other classes inline. */
  readonly raw: JsonSchemaObject;
  /** With the keyword `CHECK` where a rule, not the published form, decides. Never leaves the process. */
  readonly internal: JsonSchemaObject;
  readonly published: JsonSchemaObject;
  /** As published, without length limits: text grows on its way out, where unseen characters are escaped. */
  readonly result: JsonSchemaObject;
}

/** Ajv keyword: a list of predicates that must all hold. */
export const CHECK = 'x-check';
export type Predicate = (value: unknown) => boolean;

type Metadata = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];
type Converted = Record<string, unknown>;
type Converters = NonNullable<
  NonNullable<Parameters<typeof targetConstructorToSchema>[1]>['additionalConverters']
>;

/** class-transformer keeps what `@Type` says here and exports no way to it. */
const { defaultMetadataStorage } = createRequire(import.meta.url)(
  'class-transformer/cjs/storage.js',
) as {
  defaultMetadataStorage: {
    findTypeMetadata(target: unknown, key: string): { typeFunction(): Dto } | undefined;
  };
};

const converters: Record<string, (meta: Metadata) => Converted> = {
  isString: () => ({ type: 'string' }),
  isBoolean: () => ({ type: 'boolean' }),
  isNumber: () => ({ type: 'number' }),
  isInt: () => ({ type: 'integer' }),
  isObject: () => ({ type: 'object', additionalProperties: true }),
  min: (meta) => ({ minimum: meta.constraints[0] as unknown }),
  max: (meta) => ({ maximum: meta.constraints[0] as unknown }),
  isIn: (meta) => choice(meta, meta.constraints[0] as unknown[]),
  isEnum: (meta) => choice(meta, Object.values(meta.constraints[0] as object)),
  matches: (meta) => {
    const pattern = meta.constraints[0] as unknown;
    if (!(pattern instanceof RegExp) || !/^u?$/.test(pattern.flags))
      throw unfit(meta, 'give Matches a RegExp without flags but u');
    const holds: Predicate = (value) => typeof value === 'string' && pattern.test(value);
    return { type: 'string', pattern: pattern.source, [ruleKey()]: holds };
  },
  isArray: () => ({ type: 'array', items: {} }),
  arrayNotEmpty: () => ({ type: 'array', minItems: 1 }),
  arrayMinSize: (meta) => ({ type: 'array', minItems: meta.constraints[0] as unknown }),
  arrayMaxSize: (meta) => ({ type: 'array', maxItems: meta.constraints[0] as unknown }),
  isDefined: () => ({}),
  conditionalValidation: (meta) => {
    if (meta.name !== 'isOptional' && !isNullable(meta.target as Dto, meta.propertyName))
      throw unfit(meta, 'a condition has no schema: use IsOptional or OrNull');
    return {};
  },
  nestedValidation: (meta) => ({ ...modelOf(childOf(meta)).raw, description: undefined }),
  [CHECKED]: (meta) => {
    const rule = meta.constraints[0] as Rule;
    return { ...rule.schema, [ruleKey()]: (value: unknown) => rule.holds(value) };
  },
};

let rules = 0;
/** Two rules on one field must not overwrite each other when the converter merges them. */
function ruleKey(): string {
  rules += 1;
  return `${CHECK}-${rules}`;
}

const models = new Map<Dto, Model | 'under way'>();

/** Reads a class once. Throws where a decorator has no equal meaning in a portable schema. */
export function modelOf(dto: Dto): Model {
  const known = models.get(dto);
  if (known === 'under way') throw new Error(`${dto.name} holds itself: use IsValue for a tree`);
  if (known) return known;
  models.set(dto, 'under way');
  try {
    const model = readModel(dto);
    models.set(dto, model);
    return model;
  } catch (error) {
    models.delete(dto);
    throw error;
  }
}

function readModel(dto: Dto): Model {
  const metas = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  for (const meta of metas)
    if (!Object.hasOwn(converters, keyOf(meta)))
      throw unfit(
        meta,
        `${keyOf(meta)} has no portable equal: use IsText, Matches, IsIn or Checked`,
      );
  const read = targetConstructorToSchema(dto, {
    additionalConverters: converters as unknown as Converters,
  });
  const fields = new Map<string, Field>();
  const properties: Record<string, JsonSchema> = {};
  for (const [name, schema] of Object.entries(read.properties ?? {}) as [string, JsonSchema][]) {
    const own = metas.filter((meta) => meta.propertyName === name);
    const field = fieldOf(dto, name, own, schema);
    fields.set(name, field);
    properties[name] = isNullable(dto, name) ? orNull(schema) : schema;
  }
  const required = [...fields.values()].filter((field) => field.required).map(({ name }) => name);
  const raw: JsonSchemaObject = {
    type: 'object',
    ...(read.description === undefined ? {} : { description: read.description }),
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
  return {
    dto,
    name: dto.name,
    fields,
    raw,
    internal: rewrite(raw, ruled) as JsonSchemaObject,
    published: rewrite(raw, portable) as JsonSchemaObject,
    result: rewrite(raw, unbounded) as JsonSchemaObject,
  };
}

function fieldOf(dto: Dto, name: string, metas: readonly Metadata[], schema: JsonSchema): Field {
  const list = schema['type'] === 'array';
  const anything = schema['type'] === undefined && metas.some((meta) => meta.name === CHECKED);
  const nested = metas.find((meta) => meta.type === 'nestedValidation');
  for (const meta of metas) {
    if (schema['type'] === undefined && !anything) throw unfit(meta, 'has no type decorator');
    if (!NEUTRAL.has(keyOf(meta)) && list !== (meta.each || LIST.has(keyOf(meta))))
      throw unfit(meta, 'a list takes IsArray() and { each: true } on what speaks of its items');
  }
  return {
    name,
    required: !metas.some((meta) => meta.name === 'isOptional'),
    nullable: anything || isNullable(dto, name),
    list,
    child: nested && modelOf(childOf(nested)),
  };
}

const LIST = new Set(['isArray', 'arrayNotEmpty', 'arrayMinSize', 'arrayMaxSize']);
const NEUTRAL = new Set(['isDefined', 'conditionalValidation']);

function keyOf(meta: Metadata): string {
  return meta.type === 'customValidation' ? (meta.name ?? meta.type) : meta.type;
}

function childOf(meta: Metadata): Dto {
  const type = defaultMetadataStorage.findTypeMetadata(meta.target, meta.propertyName);
  if (!type) throw unfit(meta, 'ValidateNested needs @Type(() => TheClass)');
  return type.typeFunction();
}

function choice(meta: Metadata, values: readonly unknown[]): Converted {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  if ((type !== 'string' && type !== 'number' && type !== 'boolean') || others.length > 0)
    throw unfit(meta, 'a choice needs values of one scalar type');
  return { type, enum: [...values] };
}

function unfit(meta: Metadata, problem: string): Error {
  return new Error(`${(meta.target as Dto).name}.${meta.propertyName}: ${problem}`);
}

function orNull({ description, ...schema }: JsonSchema): JsonSchema {
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: [schema, { type: 'null' }],
  };
}

/** Applies `change` to every schema node, innermost first. */
function rewrite(node: JsonSchema, change: (node: JsonSchema) => JsonSchema): JsonSchema {
  const copy: Record<string, unknown> = { ...node };
  const inner = (schema: unknown) => rewrite(schema as JsonSchema, change);
  if (node['properties'] !== undefined)
    copy['properties'] = Object.fromEntries(
      Object.entries(node['properties'] as object).map(([name, schema]) => [name, inner(schema)]),
    );
  if (node['items'] !== undefined) copy['items'] = inner(node['items']);
  if (Array.isArray(node['anyOf'])) copy['anyOf'] = node['anyOf'].map(inner);
  return change(copy);
}

/** Where a rule decides, its published approximation must not decide a second time (length units, Unicode mode). */
const PUBLISHED_ONLY = new Set(['minLength', 'maxLength', 'pattern']);

function ruled(node: JsonSchema): JsonSchema {
  const rules = Object.keys(node).filter((key) => key.startsWith(CHECK));
  if (rules.length === 0) return node;
  const rest = without(node, (key) => key.startsWith(CHECK) || PUBLISHED_ONLY.has(key));
  return { ...rest, [CHECK]: rules.map((key) => node[key]) };
}

function portable(node: JsonSchema): JsonSchema {
  return without(node, (key) => key.startsWith(CHECK));
}

function unbounded(node: JsonSchema): JsonSchema {
  return without(
    node,
    (key) => key.startsWith(CHECK) || key === 'minLength' || key === 'maxLength',
  );
}

/** In the order in which people read a schema. */
function without(node: JsonSchema, unwanted: (keyword: string) => boolean): JsonSchema {
  const wanted = Object.entries(node).filter(([key]) => !unwanted(key));
  return Object.fromEntries(wanted.sort(([a], [b]) => READING.indexOf(b) - READING.indexOf(a)));
}
/** Last comes first; what is not named keeps its place behind. */
const READING = ['enum', 'description', 'type'];
