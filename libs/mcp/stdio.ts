import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  parseJSONRPCMessage,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import type { Caller } from '#kernel/context.js';
import { noteRefusal } from '#kernel/notices.js';
import { Refusal } from '#kernel/refusal.js';
import { refusalBody } from './answer.js';
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  SERVER_ERROR,
  errorJson,
  idOf,
  readMessage,
} from './message.js';
import { sdkServer, type Served } from './sdk.js';

/** Leads to the caller of the credential that this process was given; throws a `Refusal` once it no longer holds. */
export type Authenticate = () => Promise<Caller>;

export interface StdioConnection {
  close(): Promise<void>;
  /** Settles when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
}

const LINGER_MS = 10_000;

export function serveStdio(
  served: Served,
  authenticate: Authenticate,
  stdin: Readable,
  stdout: Writable,
): StdioConnection {
  const wire = new Lines(served, authenticate, stdin, stdout);
  const handle = serve(() => sdkServer(served, () => ({ caller: wire.caller(), streams: true })), {
    transport: wire,
  });
  return { close: () => handle.close(), closed: wire.closed };
}

/**
 * One JSON-RPC message a line. Bytes are read as strictly as over HTTP and the credential is checked at every message. A line over the
 * limit is refused as soon as it is, and skipped up to its end.
 * At the end of input the requests that are under way are still answered.
 */
class Lines implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly closed: Promise<void>;

  #settleClosed: () => void = () => undefined;
  #isClosed = false;
  #ended = false;
  #caller: Caller | undefined;
  #parts: Buffer[] = [];
  /** Of the line so far, also of what was skipped of it. */
  #size = 0;
  /** Lines are taken strictly one after the other. */
  #last: Promise<void> = Promise.resolve();
  readonly #unanswered = new Set<string | number>();

  constructor(
    readonly served: Served,
    readonly authenticate: Authenticate,
    readonly stdin: Readable,
    readonly stdout: Writable,
  ) {
    this.closed = new Promise((resolve) => (this.#settleClosed = resolve));
  }

  /** The caller of the latest message; all messages of a connection come from one credential. */
  caller(): Caller {
    if (!this.#caller) throw new Error('a message arrived without its caller');
    return this.#caller;
  }

  async start(): Promise<void> {
    this.stdin.on('data', this.#onData);
    this.stdin.on('end', this.#onEnd);
    this.stdin.on('close', this.#onEnd);
    this.stdin.on('error', this.#onEnd);
    this.stdout.on('error', this.#onBroken);
    if (this.stdin.readableEnded || this.stdin.destroyed) this.#onEnd();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(JSON.stringify(message));
    if ('id' in message && !('method' in message) && message.id !== undefined)
      this.#answered(message.id);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.stdin.off('data', this.#onData);
    this.stdin.off('end', this.#onEnd);
    this.stdin.off('close', this.#onEnd);
    this.stdin.pause();
    this.onclose?.();
    this.#settleClosed();
  }

  readonly #onData = (chunk: Buffer): void => {
    let rest = chunk;
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      this.#add(rest.subarray(0, at));
      rest = rest.subarray(at + 1);
      const line = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#size = 0;
      this.#next(() => this.#receive(line));
    }
    if (rest.length > 0) this.#add(rest);
  };

  #add(part: Buffer): void {
    const { lineBytes } = this.served.limits;
    const before = this.#size;
    this.#size += part.length;
    if (this.#size <= lineBytes) return void this.#parts.push(part);
    this.#parts = [];
    if (before <= lineBytes) this.#next(() => this.#write(tooLong(lineBytes)));
  }

  #next(step: () => Promise<void>): void {
    this.#last = this.#last.then(step).catch(this.#onBroken);
  }

  readonly #onBroken = (): void => void this.close();

  readonly #onEnd = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    setTimeout(this.#onBroken, LINGER_MS).unref();
    void this.#last.then(() => this.#closeWhenDone());
  };

  #closeWhenDone(): void {
    if (this.#ended && this.#unanswered.size === 0) void this.close();
  }

  #answered(id: string | number): void {
    this.#unanswered.delete(id);
    this.#closeWhenDone();
  }

  async #receive(line: Buffer): Promise<void> {
    if (this.#isClosed || line.every((byte) => byte <= 0x20)) return;
    const { error, message } = readMessage(line);
    if (error !== undefined) return this.#write(error);
    const refused = await this.#refuse();
    if (refused) return this.#refused(message, ...refused);
    let parsed: JSONRPCMessage;
    try {
      parsed = parseJSONRPCMessage(message);
    } catch {
      return this.#write(errorJson(idOf(message), INVALID_REQUEST, 'Invalid Request'));
    }
    if (isJSONRPCRequest(parsed)) this.#unanswered.add(parsed.id);
    else if (isJSONRPCNotification(parsed)) this.#forget(parsed.params?.['requestId']);
    this.onmessage?.(parsed);
  }

  /** A cancelled request gets no answer. */
  #forget(id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#unanswered.delete(id);
  }

  async #refuse(): Promise<[code: number, message: string, data: object] | undefined> {
    try {
      this.#caller = await this.authenticate();
      return undefined;
    } catch (error) {
      const expected = error instanceof Refusal;
      const body = refusalBody(error, this.served.onDefect);
      return expected
        ? [SERVER_ERROR, error.message, body]
        : [INTERNAL_ERROR, 'Internal server error', body];
    }
  }

  /** Only requests have an answer. */
  async #refused(message: unknown, code: number, text: string, data: object): Promise<void> {
    const id = idOf(message);
    if (id !== null) await this.#write(errorJson(id, code, text, data));
  }

  async #write(json: string): Promise<void> {
    if (this.#isClosed) return;
    if (this.stdout.write(`${json}\n`)) return;
    await new Promise<void>((resolve) => {
      this.stdout.once('drain', resolve);
      this.stdout.once('close', resolve);
    });
  }
}

/** Whose request it was stands in what was not read. */
function tooLong(max: number): string {
  const refusal = new Refusal('too_large', 'message_too_large', `a line has ${max} bytes at most`, {
    issues: [{ path: '', problem: `is a line of more than ${max} bytes` }],
    fix: 'send less at once',
  });
  noteRefusal('mcp', refusal.error);
  return errorJson(null, INVALID_REQUEST, `Invalid Request: ${refusal.message}`, refusal.body());
}
