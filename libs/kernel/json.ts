import canonicalize from 'canonicalize';
import { createHash, hash } from 'node:crypto';
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
  const h = createHash('sha256');
  for (const part of parts) h.update(`${part.length}:`).update(part);
  const hex = h.digest('hex');
  // RFC 9562 version 8: the bits are ours.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-b${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const MAX_DEPTH = 64;

function assertCarriable(value: unknown, path: string, depth = 0): void {
  if (depth > MAX_DEPTH) throw invalid(path, `is nested deeper than ${MAX_DEPTH}`, 'flatten it');
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
 * (9007199254740993, 1e400, −0), lone surrogates, and the name `__proto__`.
 * Text without a suspicious spelling takes the engine's own parser only.
 */
export function parseJson(text: string): unknown {
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
