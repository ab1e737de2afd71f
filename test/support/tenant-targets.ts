import type { TestApplication } from './application.js';

export interface Replied {
  status: number;
  text: string;
}

/** Fields of a request. */
export type Values = Record<string, unknown>;

export interface FieldSchema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minLength?: number;
  minimum?: number;
  minItems?: number;
  items?: FieldSchema;
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

/** One operation as the matrix sees it: a REST route or an MCP tool. */
export interface Target {
  name: string;
  /** Fields that stand in the path. */
  inPath: readonly string[];
  fields: Record<string, FieldSchema>;
  required: readonly string[];
  send(values: Values, key: string): Promise<Replied>;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: FieldSchema }[];
  requestBody?: { content: Record<string, { schema: FieldSchema }> };
}

/** Every route of /openapi.json. */
export async function routes(server: TestApplication): Promise<Target[]> {
  const { body } = await server.call<OpenApi>('GET', '/openapi.json');
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      route(server, method.toUpperCase(), path, operation),
    ),
  );
}

function route(
  server: TestApplication,
  method: string,
  path: string,
  operation: Operation,
): Target {
  const { parameters = [], requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '');
  return {
    name: `${method} ${path}`,
    inPath,
    fields: {
      ...Object.fromEntries(parameters.map((p) => [p.name, p.schema])),
      ...body?.properties,
    },
    required: [
      ...inPath,
      ...parameters.filter((p) => p.required === true).map((p) => p.name),
      ...(body?.required ?? []),
    ],
    async send(values, key) {
      const rest = Object.entries(values).filter(([name]) => !inPath.includes(name));
      const query = new URLSearchParams(
        rest.map(([n, v]): [string, string] => [n, String(v)]),
      ).toString();
      const url = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
        encodeURIComponent(String(values[name])),
      );
      const got =
        method === 'GET'
          ? await server.call('GET', query === '' ? url : `${url}?${query}`, undefined, key)
          : await server.call('POST', url, Object.fromEntries(rest), key);
      return { status: got.status, text: JSON.stringify(got.body) };
    },
  };
}

interface ListedTool {
  name: string;
  inputSchema: { properties: Record<string, FieldSchema>; required?: string[] };
}

/** Every tool that one of these callers is shown. */
export async function tools(server: TestApplication, keys: readonly string[]): Promise<Target[]> {
  const rpc = (method: string, params: object, key: string) =>
    server.call<{ result?: { tools?: ListedTool[] } }>(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method, params },
      key,
    );
  const lists = await Promise.all(keys.map((key) => rpc('tools/list', {}, key)));
  const listed = new Map(
    lists.flatMap(({ body }) => body.result?.tools ?? []).map((tool) => [tool.name, tool]),
  );
  return [...listed.values()].map(({ name, inputSchema }) => ({
    name: `tool ${name}`,
    inPath: [],
    fields: inputSchema.properties,
    required: inputSchema.required ?? [],
    async send(values, key) {
      const got = await rpc('tools/call', { name, arguments: values }, key);
      return { status: got.status, text: JSON.stringify(got.body) };
    },
  }));
}

/** A valid value, as plain as the schema lets it be. */
export function sample(schema: FieldSchema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.pattern?.includes('\\d{4}-') === true) return '2026-01-31';
  switch (schema.type) {
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}));
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sample(schema.properties?.[name] ?? {})]),
      );
    default:
      return 'plain '.repeat(Math.ceil(Math.max(1, schema.minLength ?? 1) / 6)).trim();
  }
}
