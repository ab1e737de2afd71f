import type { ErrorObject } from 'ajv';
import { validateSync, type ValidationError } from 'class-validator';
import type { Issue } from './refusal.js';
import type { Field, Model } from './shape-schema.js';

const OPTIONS = { forbidUnknownValues: true, whitelist: true, forbidNonWhitelisted: true };
const MAX_NAME = 100;

/**
 * What is wrong with a value, one issue a place, in the words of class-validator.
 * The structure (unknown and missing fields, nulls, lists, objects) is judged here, because class-validator
 * lets some of it pass that JSON Schema does not; it judges the fields. `errors` of Ajv tell which item of a list is meant,
 * and are worded themselves where nothing else has been found.
 */
export function issuesOf(model: Model, value: unknown, errors: readonly ErrorObject[]): Issue[] {
  const found = new Map<string, string>();
  const dressed = dress(model, value, '', found);
  if (dressed && model.fields.size > 0)
    for (const { path, problem } of wordsOf(validateSync(dressed, OPTIONS), '', false))
      for (const place of placesOf(path, problem, errors)) {
        if (!found.has(place)) found.set(place, problem.replace(/^each value in \S+ /, ''));
      }
  if (found.size === 0)
    for (const error of errors)
      found.set(pathOf(error.instancePath), error.message ?? 'is not as the schema says');
  return [...found].map(([path, problem]) => ({ path, problem }));
}

/** An instance of the class for class-validator, of the fields whose structure is right; the rest goes to `found`. */
function dress(
  model: Model,
  value: unknown,
  path: string,
  found: Map<string, string>,
): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.set(path, 'must be an object');
    return undefined;
  }
  const names = [...model.fields.keys()];
  for (const name of Object.keys(value))
    if (!model.fields.has(name))
      found.set(
        join(path, name.slice(0, MAX_NAME)),
        `is not a field of ${model.name}; allowed: ${names.join(', ') || 'none'}`,
      );
  const instance = Object.create(model.dto.prototype as object) as Record<string, unknown>;
  for (const field of model.fields.values()) {
    const item: unknown = Object.hasOwn(value, field.name)
      ? (value as Record<string, unknown>)[field.name]
      : undefined;
    const place = join(path, field.name);
    const problem = structure(field, item);
    if (problem !== undefined) found.set(place, problem);
    else if (item !== undefined)
      instance[field.name] = item === null ? null : dressField(field, item, place, found);
  }
  return instance;
}

function structure(field: Field, item: unknown): string | undefined {
  if (item === undefined) return field.required ? 'is required' : undefined;
  if (item === null) {
    if (field.nullable) return undefined;
    return field.required ? 'must not be null' : 'must not be null; leave it out instead';
  }
  return field.list && !Array.isArray(item) ? 'must be a list' : undefined;
}

function dressField(
  field: Field,
  item: unknown,
  place: string,
  found: Map<string, string>,
): unknown {
  const { child } = field;
  if (!child) return item;
  if (!field.list || !Array.isArray(item)) return dress(child, item, place, found);
  return item.map((part, i) => dress(child, part, `${place}[${i}]`, found));
}

interface Worded {
  path: string;
  problem: string;
}

function* wordsOf(
  errors: readonly ValidationError[],
  path: string,
  inList: boolean,
): Generator<Worded> {
  for (const error of errors) {
    const name = error.property ?? '';
    const place = inList ? `${path}[${name}]` : join(path, name);
    const constraints = error.constraints ?? {};
    const names = Object.keys(constraints);
    // Several may fail at once; that of the type explains the others.
    const first = names.find((key) => key.startsWith('is')) ?? names[0];
    if (first !== undefined) {
      const message = constraints[first] ?? '';
      yield {
        path: place,
        problem: message.startsWith(`${name} `) ? message.slice(name.length + 1) : message,
      };
    }
    yield* wordsOf(error.children ?? [], place, Array.isArray(error.value));
  }
}

/** class-validator says only that some item of a list is wrong; Ajv knows which. */
function placesOf(path: string, problem: string, errors: readonly ErrorObject[]): string[] {
  if (!problem.startsWith('each value in ')) return [path];
  const items = errors
    .map((error) => pathOf(error.instancePath))
    .filter((place) => place.startsWith(`${path}[`));
  return items.length === 0 ? [path] : items;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), '');
}
