import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { Caller } from '#kernel/context.js';
import { refusalBody, type OnDefect } from './answer.js';
import { catalogOf } from './catalog.js';
import { HotPath } from './hot-path.js';
import { INTERNAL_ERROR, SERVER_ERROR, errorJson, idOf, readMessage } from './message.js';
import { sdkHttp, type SdkHttp, type Served, type ServerInfo } from './sdk.js';
import { serveStdio, type Authenticate, type StdioConnection } from './stdio.js';
import type { Buses, Tool } from './tool.js';

export interface McpEdgeOptions {
  readonly tools: readonly Tool[];
  readonly buses: Buses;
  readonly serverInfo: ServerInfo;
  /** Read by models before their first call. */
  readonly instructions: string;
  readonly onDefect: OnDefect;
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
  return new McpEdge({ ...options, catalog: catalogOf(options.tools) }, options.hotPath ?? true);
}

/** The MCP door: both protocol eras over HTTP and stdio, nothing kept between two messages. */
export class McpEdge {
  readonly #served: Served;
  readonly #http: SdkHttp;
  #hot: HotPath | undefined;

  constructor(served: Served, hotPath: boolean) {
    this.#served = served;
    this.#http = sdkHttp(served);
    if (hotPath) this.#hot = new HotPath(served);
  }

  /**
   * Answers one HTTP exchange for a caller whose credential was checked before `body` was read.
   * Writes to `res` and ends it, whatever happens.
   */
  async handle(
    caller: Caller,
    req: IncomingMessage,
    res: ServerResponse,
    body: Uint8Array,
  ): Promise<void> {
    if (req.method !== 'POST') return refuse(res, 405, 'Method not allowed.', { Allow: 'POST' });
    if (!isJsonContentType(req.headers['content-type'] ?? null))
      return refuse(res, 415, 'Unsupported Media Type: Content-Type must be application/json');
    const { error, message } = readMessage(body);
    if (error !== undefined) return end(res, 400, error);
    try {
      const hot = res.destroyed ? undefined : this.#hot?.take(caller, req, message);
      if (hot) return end(res, 200, await hot);
      // Clients that accept less than both are many; the answer is JSON anyway.
      req.headers.accept = ACCEPT;
      await this.#http.handle(caller, req, res, message);
    } catch (cause) {
      const data = refusalBody(cause, this.#served.onDefect);
      const text = errorJson(idOf(message), INTERNAL_ERROR, 'Internal server error', data);
      if (res.headersSent) res.destroy();
      else end(res, 500, text);
    }
  }

  /** Requests that were answered without the SDK. */
  get hotAnswers(): number {
    return this.#hot?.taken ?? 0;
  }

  /** Serves one client on a pair of streams until either ends. */
  serveStdio(authenticate: Authenticate, stdin: Readable, stdout: Writable): StdioConnection {
    return serveStdio(this.#served, authenticate, stdin, stdout);
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
