import { PATH_METADATA, METHOD_METADATA } from '@nestjs/common/constants.js';
import { RequestMethod } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { TestApplication } from '../support/application.js';
import { nearly, valuesOf, type Schema } from '../support/schema-arbitrary.js';

interface Documented {
  parameters?: { name: string; in: 'path' | 'query'; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface Route extends Documented {
  method: 'GET' | 'POST';
  path: string;
}

const RUNS = 40;
const seed = Number(
  process.env['CONTRACT_SEED'] ?? (process.env['CI'] ? 71_183_505 : Date.now() % 1_000_000_000),
);
const ajv = new Ajv({ strict: false, allErrors: false });
(formats as unknown as (ajv: Ajv) => void)(ajv);

let server: TestApplication;
let routes: Route[];
beforeAll(async () => {
  server = await TestApplication.start();
  const { body } = await server.call<{ paths: Record<string, Record<string, Documented>> }>(
    'GET',
    '/openapi.json',
  );
  routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => ({
      ...documented,
      method: method.toUpperCase() as Route['method'],
      path,
    })),
  );
});
afterAll(() => server.close());

const guarded = (): Route[] => routes.filter(({ path }) => path.startsWith('/v1/'));

/** Method and path of everything that Nest routes. */
function routed(): string[] {
  const paths = (of: object): string[] =>
    [(Reflect.getMetadata(PATH_METADATA, of) ?? '') as string | string[]].flat();
  return [...server.application.app.get(ModulesContainer).values()]
    .flatMap((module) => [...module.controllers.values()])
    .flatMap(({ metatype }) => {
      if (typeof metatype !== 'function') return [];
      const prototype = metatype.prototype as Record<string, object>;
      return Object.getOwnPropertyNames(prototype).flatMap((name) => {
        const handler = prototype[name];
        const method = handler && (Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod);
        if (handler === undefined || method === undefined) return [];
        return paths(metatype).flatMap((base) =>
          paths(handler).map((own) => {
            const path = [base, own].join('/').replace(/\/+/g, '/').replace(/\/$/, '');
            return `${RequestMethod[method]} ${path
              .replace(/^(?!\/)/, '/')
              .replace(/:(\w+)/g, '{$1}')
              .replace(/\*$/, '{path}')}`;
          }),
        );
      });
    });
}

/** One request of that route: its parameters from their schemas, now and then wrong. */
function requests(route: Route): fc.Arbitrary<{ url: string; body: unknown }> {
  const parameters = route.parameters ?? [];
  const inPath = parameters.filter((p) => p.in === 'path');
  const inQuery = parameters.filter((p) => p.in === 'query');
  const path = fc.tuple(...inPath.map((p) => valuesOf({ ...p.schema, minLength: 1 })));
  const query = nearly({
    properties: Object.fromEntries(
      inQuery.map((p) => [p.name, p.name === 'at_least' ? WAITS : p.schema]),
    ),
    required: inQuery.filter((p) => p.required).map((p) => p.name),
  });
  const asIs = Object.values(route.requestBody?.content ?? {})[0]?.schema;
  const schema = asIs?.properties?.['at_least']
    ? { ...asIs, properties: { ...asIs.properties, at_least: WAITS } }
    : asIs;
  const body = schema
    ? fc.oneof({ weight: 9, arbitrary: nearly(schema) }, fc.jsonValue())
    : fc.constant(undefined);
  return fc.tuple(path, query, body).map(([ids, asked, sent]) => {
    const values = new Map(inPath.map((p, i) => [p.name, text(ids[i])]));
    const url = route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(wellFormed(values.get(name) ?? '')),
    );
    const search = new URLSearchParams(
      Object.entries(asked).map(([name, value]): [string, string] => [
        name,
        wellFormed(text(value)),
      ]),
    );
    return { url: search.size > 0 ? `${url}?${search.toString()}` : url, body: sent };
  });
}

/** A position in the future is waited for, and then answered 503: once is enough. */
const WAITS: Schema = { enum: ['0', '1', 'x', '-1'] };

const text = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);
const wellFormed = (value: string): string => value.toWellFormed();

/** Undefined where the reply is as documented. */
function fault(route: Route, status: number, body: unknown): string | undefined {
  if (status >= 500 && status !== 503) return `${status}`;
  const documented = route.responses[String(status)];
  if (!documented) return `status ${status} is not documented`;
  const schema = Object.values(documented.content ?? {})[0]?.schema;
  if (!schema || ajv.validate(schema, body)) return undefined;
  return `the body does not fit: ${ajv.errorsText()}`;
}

describe('the REST contract', () => {
  it('describes every route that there is, and no other', () => {
    const described = routes.map(({ method, path }) => `${method} ${path}`);
    const exists = new Set(routed());
    expect(described.filter((one) => !exists.has(one))).toEqual([]);
    expect([...exists].filter((one) => one.includes(' /v1/') && !described.includes(one))).toEqual(
      [],
    );
    expect(described.length).toBeGreaterThan(15);
  });

  it('X-4, invariant 1: answers 401 to every route without a credential, and with one that does not hold', async () => {
    for (const { method, path } of guarded())
      for (const key of ['', `prec_AAAAAAAA_${'x'.repeat(40)}`, 'nonsense']) {
        const url = path.replace(/\{\w+\}/g, 'x');
        const reply = await server.call(
          method,
          url,
          method === 'POST' ? '{"broken' : undefined,
          key,
        );
        expect([method, path, reply.status]).toEqual([method, path, 401]);
        expect(reply.headers['www-authenticate']).toMatch(/^Bearer /);
        expect(reply.body).toMatchObject({ error: 'unauthenticated', status: 401 });
      }
  });

  it('B50: any request to any route gets a documented status and a body of the documented shape, never a 5xx', async () => {
    const statuses: Record<string, number> = {};
    for (const route of guarded())
      await fc.assert(
        fc.asyncProperty(requests(route), async ({ url, body }) => {
          const sent = route.method === 'POST' ? JSON.stringify(body ?? null) : undefined;
          const reply = await server.call(route.method, url, sent);
          statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
          const wrong = fault(route, reply.status, reply.body);
          if (wrong !== undefined)
            throw new Error(
              `${route.method} ${url} ${sent ?? ''}: ${wrong}: ${JSON.stringify(reply.body)}`,
            );
        }),
        { numRuns: RUNS, seed, endOnFailure: true },
      );
    process.stdout.write(
      `REST contract: CONTRACT_SEED=${seed}, ${guarded().length} routes, replies by status ${JSON.stringify(statuses)}\n`,
    );
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '400', '404']));
  }, 300_000);
});
