import {
  applyDecorators,
  createParamDecorator,
  Get,
  HttpCode,
  Post,
  SetMetadata,
  type ExecutionContext,
} from '@nestjs/common';
import type * as Swagger from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import './caller.js';
import type { Caller, Toolset } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { shapeOf, type JsonSchema } from '#kernel/shape.js';
import { described } from './openapi.js';
import { PROBLEM_SCHEMA, problemStatuses } from './problem.js';

type Dto = new () => object;

/** An answer that is no JSON. */
export class Raw {
  constructor(readonly mediaType: string) {}
}

/** What the OpenAPI decorators take for a schema. */
type ApiSchema =
  Exclude<Parameters<typeof Swagger.ApiBody>[0], { type: unknown }> extends { schema: infer S }
    ? S
    : never;

const api = (schema: unknown): ApiSchema => schema as ApiSchema;

/** Stands on methods that take who asks and the input; one that wants another input does not compile. */
type OperationDecorator<I> = <T extends (caller: Caller, input: I) => unknown>(
  target: object,
  name: string,
  method: TypedPropertyDescriptor<T>,
) => void;

const INPUT = 'precedent:input';

/**
 * A route with its place in `/openapi.json`: path parameters, then query (GET) or body (POST), all from the one DTO class, by which
 * `@Input()` checks them. `*path` at the end of a path is the rest of it, slashes included.
 */
export function Operation<I extends object>(
  method: 'GET' | 'POST',
  path: string,
  summary: string,
  input: new () => I,
  output: Dto | Raw,
  status = 200,
): OperationDecorator<I> {
  return applyDecorators(
    SetMetadata(INPUT, input),
    method === 'GET' ? Get(routeOf(path)) : Post(routeOf(path)),
    HttpCode(status),
    described((swagger) => [
      swagger.ApiBearerAuth(),
      swagger.ApiOperation({
        summary,
        operationId: `${method.toLowerCase()}_${path.replace(/\W+/g, '_')}`,
      }),
      ...inputOf(swagger, method, path, input),
      swagger.ApiResponse({ status, description: 'Done.', ...contentOf(output) }),
      ...problemStatuses(method).map((code) =>
        swagger.ApiResponse({
          status: code,
          description: 'Refused; the body says why and what helps.',
          content: { 'application/problem+json': { schema: api(PROBLEM_SCHEMA) } },
        }),
      ),
    ]),
  );
}

function routeOf(path: string): string {
  return path.replace(/\*path$/, '*');
}

function inputOf(
  { ApiBody, ApiParam, ApiQuery }: typeof Swagger,
  method: 'GET' | 'POST',
  path: string,
  input: Dto,
): MethodDecorator[] {
  const { schema } = shapeOf(input);
  const inPath = [...path.matchAll(/[:*](\w+)/g)].map((m) => m[1] ?? '');
  const rest = Object.entries(schema.properties).filter(([name]) => !inPath.includes(name));
  const required = (schema.required ?? []).filter((name) => !inPath.includes(name));
  return [
    ...inPath.map((name) => ApiParam({ name, schema: api(schema.properties[name]) })),
    ...(method === 'GET'
      ? rest.map(([name, s]) => ApiQuery(inQuery(name, s, required.includes(name))))
      : [ApiBody({ schema: api({ ...schema, properties: Object.fromEntries(rest), required }) })]),
  ];
}

function contentOf(output: Dto | Raw) {
  if (!(output instanceof Raw)) return { schema: api(shapeOf(output).schema) };
  return { content: { [output.mediaType]: { schema: { type: 'string', format: 'binary' } } } };
}

function inQuery(name: string, schema: JsonSchema, required: boolean) {
  const nested = schema.type === 'object' ? { style: 'deepObject' as const, explode: true } : {};
  return { name, required, schema: api(schema), ...nested };
}

/** The validated input of the operation that it stands in, put together from path, query and body. */
export const Input = createParamDecorator((_data: unknown, context: ExecutionContext): object => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const shape = shapeOf(Reflect.getMetadata(INPUT, context.getHandler()) as Dto);
  const { '*': rest, ...named } = request.params as Record<string, string>;
  const params = rest === undefined ? named : { ...named, path: rest };
  if (request.method === 'GET')
    return shape.parse({
      ...fromQuery(request.query as Record<string, unknown>, shape.schema.properties),
      ...params,
    });
  const { body } = request;
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid(
      '',
      'the body is no JSON object',
      'send a JSON object with content-type application/json',
    );
  for (const name of Object.keys(params))
    if (name in body) throw invalid(name, 'is in the path already', 'leave it out of the body');
  const key = request.headers['idempotency-key'];
  if (key === undefined || !('request_id' in shape.schema.properties))
    return shape.parse({ ...body, ...params });
  return shape.parse({ ...body, ...params, request_id: requestId(body, String(key)) });
});

/** The header is another way to write the field; it may have the quotation marks of a structured field. */
function requestId(body: object, header: string): unknown {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  const given = 'request_id' in body ? body.request_id : key;
  if (given === key) return key;
  throw invalid(
    'request_id',
    'differs from the header Idempotency-Key',
    'send one of the two, or the same value in both',
  );
}

const TOOLSET = 'precedent:toolset';

/** Routes of one part of the product. A credential that is limited to other parts finds nothing there, as with its tools. */
export function PartOf(toolset: Toolset): ClassDecorator {
  return SetMetadata(TOOLSET, toolset);
}

/** Who asks. The credential check runs before any route, so this is only absent when a route escaped it. */
export const CallerOf = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Caller => {
    const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'a credential is needed');
    const toolset = Reflect.getMetadata(TOOLSET, context.getClass()) as Toolset | undefined;
    if (toolset === undefined || !caller.toolsets || caller.toolsets.includes(toolset))
      return caller;
    throw new Refusal('not_found', 'not_found', 'there is nothing here', {
      fix: 'use a key that is not limited to other parts of the product',
    });
  },
);

/** Query strings carry text only. What the schema wants as a number or truth value is read strictly; the rest is left for the check to refuse. */
function fromQuery(
  given: Record<string, unknown>,
  properties: Readonly<Record<string, JsonSchema>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const nested = /^([^[\]]+)\[([^[\]]+)\]$/.exec(key);
    const [, outer = '', inner = ''] = nested ?? [];
    if (nested && properties[outer]?.type === 'object')
      input[outer] = { ...(input[outer] as object | undefined), [inner]: value };
    else input[key] = fromText(value, properties[key]?.type);
  }
  return input;
}

function fromText(value: unknown, type: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
