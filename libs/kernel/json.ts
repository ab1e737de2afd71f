import canonicalize from 'canonicalize';
import { hash } from 'node:crypto';
import { Refusal, invalid } from './refusal.js';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * Canonical JSON (RFC 8785) of a value that JSON can carry without loss.
 * Refuses what it cannot: undefined, NaN, infinities, lone surrogates, integers beyond 2^53 − 1.
 */
export function canonicalJson(value: unknown): string {
  assertCarriable(value, '');
  const text = canonicalize(value);
  if (text === undefined) throw invalid('', 'is not a JSON value', 'send a JSON value');
  return text;
}

/** Lower-case hex SHA-256 of the UTF-8 bytes. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex');
}

/** A UUID that depends on its parts alone: the same command gives the same event ids on every retry. */
export function derivedId(...parts: readonly string[]): string {
  const hex = sha256(parts.map((part) => `${part.length}:${part}`).join(''));
  // RFC 9562 version 8: the bits are ours.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-b${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Arrays and objects inside one another at most. */
export const MAX_DEPTH = 64;

function assertCarriable(value: unknown, path: string, depth = 0): void {
  if (depth > MAX_DEPTH) throw tooDeep(path);
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      if (!value.isWellFormed())
        throw invalid(path, 'holds half of a surrogate pair', 'send well-formed Unicode');
      return;
    case 'number':
      assertNumber(value, path);
      return;
    case 'object':
      if (value === null) return;
      if (Array.isArray(value)) {
        value.forEach((item, i) => assertCarriable(item, `${path}[${i}]`, depth + 1));
        return;
      }
      for (const [key, item] of Object.entries(value)) {
        if (!key.isWellFormed())
          throw invalid(
            path,
            'has a name with half of a surrogate pair',
            'send well-formed Unicode',
          );
        assertCarriable(item, path === '' ? key : `${path}.${key}`, depth + 1);
      }
      return;
    default:
      throw invalid(
        path,
        `is of type ${typeof value}, which JSON cannot carry`,
        'send a JSON value',
      );
  }
}

function assertNumber(value: number, path: string): void {
  if (!Number.isFinite(value)) throw invalid(path, 'is no finite number', 'send a finite number');
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw invalid(path, 'is an integer beyond 2^53 − 1', 'send it as a string');
}

/** A number that may be −0, have an exponent or more than 15 digits; an escape that may be half a pair or part of `__proto__`. */
const SUSPICIOUS =
  /(?:^|[\s[,:])(?:-0|-?[\d.]*\d[eE]|-?[\d.]{16})|\\u(?:[dD][89a-fA-F]|00[567])|__proto__/;

/**
 * Parses JSON text and refuses, with its path, whatever would not survive: numbers that a double rounds
 * (9007199254740993, 1e400, −0), lone surrogates, the name `__proto__`, and what is nested deeper than `MAX_DEPTH`.
 * Text without a suspicious spelling takes the engine's own parser only.
 */
export function parseJson(text: string): unknown {
  const shallow = cutAtDepth(text);
  if (shallow !== text) throw tooDeep(pathOfCut(shallow));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : 'unreadable';
    throw new Refusal('invalid', 'invalid_json', `the body is not JSON: ${problem}`, {
      issues: [{ path: '', problem }],
      fix: 'send one JSON value in UTF-8',
    });
  }
  if (SUSPICIOUS.test(text)) assertFaithful(text, value);
  return value;
}

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  34, 92, 91, 93, 123, 125,
];

/**
 * The text as it is, or, where arrays and objects are nested too deep, the part before the first such place, closed.
 * Looks before anything is parsed: the engine's parser takes microseconds for each level, and a body has room for millions.
 */
export function cutAtDepth(text: string): string {
  const open: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) i = endOfString(text, i);
    else if (c === CLOSE_ARRAY || c === CLOSE_OBJECT) open.pop();
    else if (c === OPEN_ARRAY || c === OPEN_OBJECT) {
      if (open.length === MAX_DEPTH) return closed(text.slice(0, i), open);
      open.push(c);
    }
  }
  return text;
}

/** Place of the quotation mark that ends a string; the end of the text where none does. */
function endOfString(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let before = end;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end;
  }
}

/** An empty array stands where it was cut: the one value that is too deep. */
function closed(text: string, open: readonly number[]): string {
  const ends = open.map((c) => (c === OPEN_ARRAY ? ']' : '}')).reverse();
  return `${text}[]${ends.join('')}`;
}

function pathOfCut(shallow: string): string {
  try {
    return tooDeepIn(JSON.parse(shallow), MAX_DEPTH) ?? '';
  } catch {
    return '';
  }
}

/** Path of the first value that has more than `levels` arrays and objects around it. Looks no deeper, whatever is there. */
function tooDeepIn(value: unknown, levels: number): string | undefined {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const path = tooDeepAt(value, String(i), value[i], levels);
      if (path !== undefined) return path;
    }
  } else if (typeof value === 'object' && value !== null)
    for (const key in value) {
      const path = tooDeepAt(value, key, (value as Record<string, unknown>)[key], levels);
      if (path !== undefined) return path;
    }
  return undefined;
}

function tooDeepAt(
  holder: unknown,
  key: string,
  item: unknown,
  levels: number,
): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const rest = levels === 1 ? '' : tooDeepIn(item, levels - 1);
  if (rest === undefined) return undefined;
  const here = joinPath('', holder, key);
  return rest === '' || rest.startsWith('[') ? here + rest : `${here}.${rest}`;
}

const SHOWN_PATH = 200;

function tooDeep(path: string): Refusal {
  const shown = path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}…` : path;
  return invalid(shown, `is nested deeper than ${MAX_DEPTH}`, 'flatten it');
}

interface Found {
  holder: unknown;
  key: string;
  problem: string;
  fix: string;
}

function assertFaithful(text: string, value: unknown): void {
  assertCarriable(value, '');
  let found: Found | undefined;
  const inspect = function (
    this: unknown,
    key: string,
    item: unknown,
    context?: { source?: string },
  ): unknown {
    found ??= flawOf(this, key, item, context?.source);
    return item;
  };
  const root = JSON.parse(text, inspect) as unknown;
  if (!found) return;
  const { holder, key, problem, fix } = found;
  throw invalid(joinPath(pathTo(root, holder, '') ?? '', holder, key), problem, fix);
}

function flawOf(
  holder: unknown,
  key: string,
  item: unknown,
  source: string | undefined,
): Found | undefined {
  if (key === '__proto__')
    return { holder, key, problem: 'is a reserved name', fix: 'rename the field' };
  if (typeof item !== 'number' || source === undefined || sameNumber(source, item))
    return undefined;
  const problem = `${source.slice(0, 40)} cannot be kept exactly as a number`;
  return { holder, key, problem, fix: 'send it as a string' };
}

/** Where `wanted` is inside `value`; the reviver names a key but not the way to it. */
function pathTo(value: unknown, wanted: unknown, path: string): string | undefined {
  if (value === wanted) return path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const found = pathTo(item, wanted, joinPath(path, value, key));
    if (found !== undefined) return found;
  }
  return undefined;
}

function joinPath(path: string, holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** True where the spelled number and its double are the same decimal value. */
function sameNumber(source: string, value: number): boolean {
  if (Object.is(value, -0)) return false;
  return plainDigits(source) === plainDigits(String(value));
}

/** `12.50e1` → `125|0`: significant digits and exponent, so that two spellings of one value compare equal. */
function plainDigits(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (!match) return source;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const trimmed = digits.replace(/0+$/, '');
  if (trimmed === '') return '0';
  return `${sign}${trimmed}|${Number(exponent) - fraction.length + digits.length - trimmed.length}`;
}
