import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { Caller, Clock, Toolset } from '#kernel/context.js';
import { noteMcpMessage } from '#kernel/notices.js';
import { Refusal } from '#kernel/refusal.js';
import { refusalBody, type OnDefect } from './answer.js';
import { catalogOf } from './catalog.js';
import { HotPath } from './hot-path.js';
import { MCP_LIMITS, type McpLimits } from './limits.js';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  SERVER_ERROR,
  errorJson,
  idOf,
  readMessage,
} from './message.js';
import { RequestStates, type RequestStateOptions } from './request-state.js';
import { Resources, type GuideText } from './resources.js';
import { sdkHttp, type Arrived, type SdkHttp } from './sdk-http.js';
import type { Served, ServerInfo } from './sdk.js';
import type { Holds } from './sessions.js';
import { serveStdio, type Authenticate, type StdioConnection } from './stdio.js';
import { narrowed, toolsetsIn } from './toolsets.js';
import type { Buses, Tool } from './tool.js';

export interface McpEdgeOptions {
  readonly tools: readonly Tool[];
  readonly resources: readonly GuideText[];
  readonly buses: Buses;
  readonly serverInfo: ServerInfo;
  /** Read by models before their first call. */
  readonly instructions: string;
  readonly onDefect: OnDefect;
  readonly requestState: RequestStateOptions;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: `MCP_LIMITS`. */
  readonly limits?: Partial<McpLimits>;
  /** False leaves every request to the SDK: what tests compare with. */
  readonly hotPath?: boolean;
}

/** Clients prefix every tool with it and cut the whole. */
const MAX_SERVER_NAME = 24;
const ACCEPT = 'application/json, text/event-stream';

/** Throws where the tools cannot be served: that is found at start, never at a call. */
export function createMcpEdge(options: McpEdgeOptions): McpEdge {
  if (options.serverInfo.name.length > MAX_SERVER_NAME)
    throw new Error(`the server's name is longer than ${MAX_SERVER_NAME} characters`);
  const { tools, resources, requestState, clock = Date.now, limits, hotPath = true } = options;
  const served: Served = {
    ...options,
    catalog: catalogOf(tools, options.serverInfo.name),
    resources: new Resources(resources),
    states: new RequestStates(requestState, clock),
    limits: { ...MCP_LIMITS, ...limits },
  };
  return new McpEdge(served, clock, hotPath);
}

/** For credentials that cannot be taken back while a request lasts. */
const ALWAYS: Holds = () => Promise.resolve(true);

/**
 * The MCP door: both protocol eras over HTTP and stdio. Nothing is kept between two messages but sessions, and these for older
 * clients only that can ask their user.
 */
export class McpEdge {
  readonly #served: Served;
  readonly #http: SdkHttp;
  #hot: HotPath | undefined;

  constructor(served: Served, clock: Clock, hotPath: boolean) {
    this.#served = served;
    this.#http = sdkHttp(served, clock);
    if (hotPath) this.#hot = new HotPath(served);
  }

  /**
   * Answers one HTTP exchange for a caller whose credential was checked before `body` was read; `holds` checks it again while the
   * answer lasts. Writes to `res` and ends it, whatever happens.
   */
  async handle(
    caller: Caller,
    req: IncomingMessage,
    res: ServerResponse,
    body: Uint8Array,
    holds: Holds = ALWAYS,
  ): Promise<void> {
    if (req.method !== 'POST') return this.#sessionOnly({ caller, holds, streams: true, res }, req);
    if (!isJsonContentType(req.headers['content-type'] ?? null))
      return refuse(res, 415, 'Unsupported Media Type: Content-Type must be application/json');
    const { error, message } = readMessage(body);
    if (error !== undefined) return end(res, 400, error);
    noteMcpMessage(message);
    try {
      const view = narrowed(caller, toolsetsIn(req.url));
      const hot = res.destroyed ? undefined : this.#hotAnswer(view, req, message);
      if (hot) return end(res, 200, await hot);
      const streams = req.headers.accept?.includes('text/event-stream') ?? false;
      // Clients that accept less than both are many; they get JSON.
      req.headers.accept = ACCEPT;
      await this.#http.handle({ caller: view, holds, streams, res }, req, message);
    } catch (cause) {
      this.#failed(cause, res, message);
    }
  }

  /** GET opens a session's stream, DELETE ends a session; without one neither is allowed. */
  async #sessionOnly(arrived: Arrived, req: IncomingMessage): Promise<void> {
    if (req.headers['mcp-session-id'] === undefined)
      return refuse(arrived.res, 405, 'Method not allowed.', { Allow: 'POST' });
    try {
      await this.#http.handle(arrived, req, undefined);
    } catch (cause) {
      this.#failed(cause, arrived.res, undefined);
    }
  }

  /** What asks nothing of its client needs none of its session, but the session must be the caller's. */
  #hotAnswer(caller: Caller, req: IncomingMessage, message: unknown): Promise<string> | undefined {
    const session = req.headers['mcp-session-id'];
    if (session !== undefined && !this.#http.knows(session, caller)) return undefined;
    return this.#hot?.take(caller, req, message);
  }

  #failed(cause: unknown, res: ServerResponse, message: unknown): void {
    const data = refusalBody(cause, this.#served.onDefect);
    if (res.headersSent) return void res.destroy();
    const id = idOf(message);
    if (cause instanceof Refusal)
      end(res, 400, errorJson(id, INVALID_PARAMS, `Invalid params: ${cause.message}`, data));
    else end(res, 500, errorJson(id, INTERNAL_ERROR, 'Internal server error', data));
  }

  /** Requests that were answered without the SDK. */
  get hotAnswers(): number {
    return this.#hot?.taken ?? 0;
  }

  /** Sessions that are open. */
  get sessions(): number {
    return this.#http.sessions;
  }

  /** Serves one client on a pair of streams until either ends; `toolsets` are all that it sees, if any are given. */
  serveStdio(
    authenticate: Authenticate,
    stdin: Readable,
    stdout: Writable,
    toolsets?: readonly Toolset[],
  ): StdioConnection {
    const narrow = async () => narrowed(await authenticate(), toolsets);
    return serveStdio(this.#served, narrow, stdin, stdout);
  }

  /** Ends what is under way; for shutdown. */
  async close(): Promise<void> {
    this.#hot = undefined;
    await this.#http.close();
  }
}

function refuse(
  res: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  end(res, status, errorJson(null, SERVER_ERROR, text), headers);
}

function end(
  res: ServerResponse,
  status: number,
  json: string,
  headers: Record<string, string> = {},
): void {
  const length = Buffer.byteLength(json);
  res.writeHead(status, {
    'content-length': length,
    'content-type': 'application/json',
    ...headers,
  });
  res.end(json);
}
