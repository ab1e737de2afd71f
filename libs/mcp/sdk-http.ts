import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type AuthInfo,
  type McpHandlerRequestOptions,
} from '@modelcontextprotocol/server';
import type { Caller, Clock } from '#kernel/context.js';
import { SESSION_NOT_FOUND, errorJson } from './message.js';
import { canElicit, sdkServer, type Origin, type Served } from './sdk.js';
import { Sessions, holdsStill, type Holds } from './sessions.js';

/** One HTTP exchange that the SDK answers. */
export interface Arrived extends Origin {
  readonly holds: Holds;
  readonly res: ServerResponse;
}

export interface SdkHttp {
  /** Answers one parsed message of either era; for GET and DELETE there is none. */
  handle(arrived: Arrived, req: IncomingMessage, message: unknown): Promise<void>;
  /** Whether the session is this caller's; it is then in use. */
  knows(session: string | string[], caller: Caller): boolean;
  /** Sessions that are open. */
  readonly sessions: number;
  close(): Promise<void>;
}

type NodeRequest = Parameters<ReturnType<typeof toNodeHandler>>[0];
type Options = McpHandlerRequestOptions;

/** Both eras on one endpoint. Answers are JSON but where a tool reports progress, and within sessions. */
export function sdkHttp(served: Served, now: Clock): SdkHttp {
  const sessions = new Sessions(served.limits, now);
  const serverFor = () => sdkServer(served, ({ http }) => arrivedIn({ authInfo: http?.authInfo }));
  const modern = createMcpHandler(serverFor, { legacy: 'reject' });

  /** A request on its own: nothing is left of it but its answer. */
  async function single(request: Request, options: Options): Promise<Response> {
    const { res, streams } = arrivedIn(options);
    const server = serverFor();
    const enableJsonResponse = !(streams && reports(served, options));
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse });
    await server.connect(transport);
    if (!enableJsonResponse) {
      whenClosed(res, () => void server.close());
      return transport.handleRequest(request, options);
    }
    try {
      return await transport.handleRequest(request, options);
    } finally {
      await server.close();
    }
  }

  async function opened(request: Request, options: Options): Promise<Response> {
    const { caller, holds } = arrivedIn(options);
    const { workspace, principal } = caller;
    const server = serverFor();
    const transport: WebStandardStreamableHTTPServerTransport =
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          sessions.add({ id, workspace, principal, server, transport }, holds);
        },
      });
    await server.connect(transport);
    // The protocol layer has put its own listener there.
    const { onclose } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) sessions.remove(transport.sessionId);
      onclose?.();
    };
    const response = await transport.handleRequest(request, options);
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  async function within(id: string, request: Request, options: Options): Promise<Response> {
    const { caller, holds, res } = arrivedIn(options);
    const used = sessions.use(id, caller, holds);
    if (!used)
      return new Response(errorJson(null, SESSION_NOT_FOUND, 'Session not found'), {
        status: 404,
        headers: { 'content-type': 'application/json' },
      });
    whenClosed(res, used.done);
    const response = await used.session.transport.handleRequest(request, options);
    return request.method === 'GET' ? begun(response) : response;
  }

  function legacy(request: Request, options: Options): Promise<Response> {
    const { parsedBody: message } = options;
    const { caller, streams } = arrivedIn(options);
    // A client that begins anew may still name the session that it has lost.
    if (isInitializeRequest(message)) {
      const asks = streams && canElicit(message.params.capabilities);
      return asks && sessions.admits(caller) ? opened(request, options) : single(request, options);
    }
    const id = request.headers.get('mcp-session-id');
    return id === null ? single(request, options) : within(id, request, options);
  }

  const node = toNodeHandler({
    fetch: async (request, options = {}) => {
      if (await isLegacyRequest(request, options.parsedBody))
        return measured(await legacy(request, options));
      return measured(await modern.fetch(request, options));
    },
  });

  return {
    get sessions() {
      return sessions.size;
    },
    knows: (session, caller) => typeof session === 'string' && sessions.touch(session, caller),
    async handle(arrived, req, message) {
      const stop = watch(arrived, served.limits.recheckMs);
      try {
        // The only way from here to the server of this request.
        const { principal } = arrived.caller;
        const auth = { token: '', clientId: principal, scopes: [], extra: { arrived } };
        Object.assign(req, { auth });
        await node(req as NodeRequest, arrived.res, message);
      } finally {
        stop();
      }
    },
    async close() {
      sessions.closeAll();
      await modern.close();
    },
  };
}

/** Ends an answer that outlasts its credential (B40). */
function watch({ holds, res }: Arrived, everyMs: number): () => void {
  const timer = setInterval(() => {
    void holdsStill(holds).then((still) => {
      if (!still) res.destroy();
    });
  }, everyMs).unref();
  return () => clearInterval(timer);
}

function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.closed || res.destroyed) then();
  else res.once('close', then);
}

/** The call wants progress, of a tool that may have some. */
function reports({ catalog }: Served, { parsedBody, authInfo }: Options): boolean {
  const { method, params } = (parsedBody ?? {}) as {
    method?: unknown;
    params?: Record<string, unknown>;
  };
  if (method !== 'tools/call' || typeof params?.['name'] !== 'string') return false;
  const meta = params['_meta'] as { progressToken?: unknown } | null | undefined;
  if (meta?.progressToken === undefined) return false;
  return catalog.find(arrivedIn({ authInfo }).caller, params['name'])?.interactive ?? false;
}

/** JSON leaves with its length, as on the hot path. A stream has none. */
async function measured(response: Response): Promise<Response> {
  const { headers, status } = response;
  if (headers.get('content-type') !== 'application/json') return response;
  const body = await response.bytes();
  headers.set('content-length', String(body.byteLength));
  return new Response(body, { status, headers });
}

/** Headers leave with the first bytes, and a stream of notifications may have none for long. */
function begun({ body, status, headers }: Response): Response {
  const comment = new TransformStream<Uint8Array, Uint8Array>({
    start: (out) => out.enqueue(Buffer.from(': open\n\n')),
  });
  return new Response(status === 200 && body ? body.pipeThrough(comment) : body, {
    status,
    headers,
  });
}

function arrivedIn({ authInfo }: { authInfo?: AuthInfo | undefined }): Arrived {
  const arrived = authInfo?.extra?.['arrived'];
  if (arrived === undefined) throw new Error('a message arrived without its caller');
  return arrived as Arrived;
}
