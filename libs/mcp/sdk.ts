import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  ProtocolError,
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
  type CallToolResult,
  type ListToolsResult,
  type McpHandlerRequestOptions,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Caller } from '#kernel/context.js';
import { answer, type OnDefect } from './answer.js';
import type { Catalog } from './catalog.js';
import { INVALID_PARAMS } from './message.js';
import type { Buses } from './tool.js';

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** Everything that is worked out once, at start. */
export interface Served {
  readonly catalog: Catalog;
  readonly buses: Buses;
  readonly serverInfo: ServerInfo;
  readonly instructions: string;
  readonly onDefect: OnDefect;
}

const validator = new AjvJsonSchemaValidator();

/* eslint-disable @typescript-eslint/no-deprecated -- McpServer converts every schema at every list; the low-level one takes ours as they are. */
/** The SDK's server around the catalogue: cheap, one for each request (HTTP) or connection (stdio). */
export function sdkServer(served: Served, callerOf: () => Caller): Server {
  const server = new Server(served.serverInfo, {
    capabilities: { tools: {} },
    instructions: served.instructions,
    jsonSchemaValidator: validator,
  });
  server.setRequestHandler('tools/list', (): ListToolsResult => {
    // The SDK types a schema as mutable JSON; ours are read-only and checked at start.
    return { tools: served.catalog.list(callerOf()) as unknown as ListToolsResult['tools'] };
  });
  server.setRequestHandler('tools/call', async ({ params }): Promise<CallToolResult> => {
    const caller = callerOf();
    const tool = served.catalog.find(caller, params.name);
    if (!tool) throw new ProtocolError(INVALID_PARAMS, UNKNOWN_TOOL);
    const got = await answer(tool, params.arguments ?? {}, caller, served.buses, served.onDefect);
    const content: CallToolResult['content'] = [{ type: 'text', text: got.text }];
    return got.ok
      ? { content, structuredContent: JSON.parse(got.json) as Record<string, unknown> }
      : { content, isError: true };
  });
  return server;
}

/* eslint-enable @typescript-eslint/no-deprecated */

/** Does not name the tool: one answer for a hidden one and for none. */
export const UNKNOWN_TOOL = 'Unknown tool';

export interface SdkHttp {
  /** Answers one parsed message, of either era. */
  handle(
    caller: Caller,
    req: IncomingMessage,
    res: ServerResponse,
    message: unknown,
  ): Promise<void>;
  close(): Promise<void>;
}

type NodeRequest = Parameters<ReturnType<typeof toNodeHandler>>[0];

/** Both eras on one endpoint, without sessions. Answers are JSON, never a stream. */
export function sdkHttp(served: Served): SdkHttp {
  const serverFor = (options: McpHandlerRequestOptions) =>
    sdkServer(served, () => callerIn(options));
  const modern = createMcpHandler((context) => serverFor(context), { legacy: 'reject' });

  async function legacy(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const server = serverFor(options);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      return await transport.handleRequest(request, options);
    } finally {
      await server.close();
    }
  }

  const node = toNodeHandler({
    fetch: async (request, options = {}) => {
      const isLegacy = await isLegacyRequest(request, options.parsedBody);
      return measured(await (isLegacy ? legacy(request, options) : modern.fetch(request, options)));
    },
  });

  return {
    async handle(caller, req, res, message) {
      // The only way from here to the server of this request.
      const auth = { token: '', clientId: caller.principal, scopes: [], extra: { caller } };
      Object.assign(req, { auth });
      await node(req as NodeRequest, res, message);
    },
    close: () => modern.close(),
  };
}

/** JSON leaves with its length, as on the hot path. A stream has none. */
async function measured(response: Response): Promise<Response> {
  const { headers, status } = response;
  if (headers.get('content-type') !== 'application/json') return response;
  const body = await response.bytes();
  headers.set('content-length', String(body.byteLength));
  return new Response(body, { status, headers });
}

function callerIn(options: McpHandlerRequestOptions): Caller {
  const caller = options.authInfo?.extra?.['caller'];
  if (caller === undefined) throw new Error('a message arrived without its caller');
  return caller as Caller;
}
