import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer } from 'node:net';

/**
 * A connection is idle for the server while the next request is on its way. For this long, in milliseconds, such requests are still
 * answered, with `Connection: close`: closed at once, they would be reset.
 */
const LINGER_MS = 250;

/**
 * Ends a server without cutting anything short. Node closes idle connections once, when `close` is called: one that becomes idle
 * later would hold the process until its keep-alive time is over. Hence every answer is watched from the start.
 */
export class Draining {
  readonly #server: Server;
  /** Answers under way. True: one that ends only when somebody ends it, a subscription. */
  readonly #open = new Map<ServerResponse, boolean>();
  #draining = false;
  #lingered = false;
  #changed: () => void = () => undefined;

  constructor(server: Server) {
    this.#server = server;
    server.prependListener('request', (request, response) => {
      this.#begun(request, response);
    });
  }

  #begun(request: IncomingMessage, response: ServerResponse): void {
    this.#open.set(response, isEndless(request));
    if (this.#draining) response.shouldKeepAlive = false;
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#lingered) this.#server.closeIdleConnections();
      this.#changed();
    });
  }

  /** No new connection from here on; answers say `Connection: close`; idle connections end a moment later. */
  begin(): void {
    if (this.#draining) return;
    this.#draining = true;
    const wasListening = this.#server.listening;
    // Not http's own `close`, which would end idle connections now.
    TcpServer.prototype.close.call(this.#server);
    for (const response of this.#open.keys())
      if (!response.headersSent) response.shouldKeepAlive = false;
    setTimeout(
      () => {
        this.#lingered = true;
        this.#server.closeIdleConnections();
        this.#changed();
      },
      wasListening ? LINGER_MS : 0,
    );
  }

  /** True once every call is answered, subscriptions aside; false where that takes longer than `limitMs`. */
  answered(limitMs: number): Promise<boolean> {
    const isQuiet = (): boolean => [...this.#open.values()].every((endless) => endless);
    return this.#until(() => this.#lingered && isQuiet(), limitMs + LINGER_MS);
  }

  /** Waits for subscriptions as well, then cuts whatever is left. */
  async end(limitMs: number): Promise<void> {
    await this.#until(() => this.#open.size === 0, limitMs);
    this.#server.closeAllConnections();
  }

  async #until(reached: () => boolean, limitMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      resolve(reached());
    }, limitMs);
    this.#changed = () => {
      if (reached()) resolve(true);
    };
    this.#changed();
    const outcome = await promise;
    clearTimeout(timer);
    return outcome;
  }
}

/** Streams that a client keeps open to hear of changes: GET in the older protocol, a method of its own in the newer. */
function isEndless({ method, headers }: IncomingMessage): boolean {
  return method === 'GET'
    ? headers.accept?.includes('text/event-stream') === true
    : headers['mcp-method'] === 'subscriptions/listen';
}
