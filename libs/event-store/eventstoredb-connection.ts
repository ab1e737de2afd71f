import { EventStoreDBClient, type Credentials } from '@eventstore/db-client';
import { Refusal } from '#kernel/refusal.js';
import { accessDenied, type Address } from './eventstoredb-address.js';
import type { Health, Timings } from './eventstoredb-health.js';
import { storeClosed } from './header.js';

/** An answer that did not come in time. What was asked for may have happened. */
export class NoAnswer extends Error {
  override name = 'NoAnswer';
}

export type ReadCallOptions = { credentials?: Credentials; requiresLeader: boolean };

/** Members of client 6.2.1 that are not public, which is why package.json names that version exactly. */
export interface ClientInternals {
  createChannel: () => Promise<{ close(): void }>;
  handleError: (client: object, error: Error) => Promise<void>;
  supports: () => Promise<boolean>;
  GRPCStreamCreator: (
    service: object,
    name: string,
    creator: (client: object) => NodeJS.ReadableStream,
  ) => () => Promise<NodeJS.ReadableStream>;
  callArguments: (options: ReadCallOptions & { deadline: number }) => unknown[];
}

interface Use {
  client: EventStoreDBClient;
  channels: { close(): void }[];
  /** Calls and subscriptions that run on it. A replaced client is closed when the last one ends. */
  users: number;
}

/**
 * The client of one cluster, replaced when it is beyond use: it keeps a failed discovery for ever, and a connection that
 * goes nowhere until the keep-alive gives up.
 */
export class Connection {
  /** Whom health blames for calls that fail. */
  readonly #calls = {};
  #current: Use;
  readonly #retired = new Set<Use>();
  #generation = 0;
  #closed = false;

  constructor(
    readonly address: Address,
    readonly timings: Timings,
    readonly health: Health,
  ) {
    this.#current = this.#open();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Options of every call that must see what was acknowledged: only the leader has seen all of it. */
  get leader(): ReadCallOptions {
    return { ...this.any, requiresLeader: true };
  }

  get any(): ReadCallOptions {
    const { credentials } = this.address;
    return { requiresLeader: false, ...(credentials && { credentials }) };
  }

  /** Runs `work`, which gets at most `ms`. A call without an answer costs the client its place. */
  async call<T>(ms: number, work: (client: EventStoreDBClient) => Promise<T>): Promise<T> {
    const use = this.hold();
    try {
      const answer = await within(work(use.client), ms);
      this.reached();
      return answer;
    } catch (error) {
      if (isUnreachable(error)) this.health.down(this.#calls);
      if (isBeyondUse(error)) this.replace(use.client);
      throw error;
    } finally {
      this.release(use.client);
    }
  }

  /** The cluster has answered. */
  reached(): void {
    this.health.up(this.#calls);
  }

  /** The client, until `release`. */
  hold(): { client: EventStoreDBClient } {
    if (this.#closed) throw storeClosed();
    this.#current.users++;
    return this.#current;
  }

  release(client: EventStoreDBClient): void {
    const use = [this.#current, ...this.#retired].find((u) => u.client === client);
    if (!use) return;
    use.users--;
    if (use.users === 0 && this.#retired.delete(use)) shut(use);
  }

  /** Later calls get a new client and a new connection. Does nothing when that already happened. */
  replace(client: EventStoreDBClient): void {
    if (this.#closed || this.#current.client !== client) return;
    this.health.stats.clientsReplaced++;
    const old = this.#current;
    this.#current = this.#open();
    if (old.users === 0) shut(old);
    else this.#retired.add(old);
  }

  #open(): Use {
    // gRPC shares a connection among channels with the same arguments, a dead one too: each client gets arguments of its own.
    const { text, keepAliveMs } = this.address;
    const keepAlive = keepAliveMs + (this.#generation++ % 1_000);
    const own = `${text}${text.includes('?') ? '&' : '?'}keepAliveTimeout=${keepAlive}`;
    const client = EventStoreDBClient.connectionString(own);
    const use: Use = { client, channels: [], users: 0 };
    guard(use);
    return use;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const use of [this.#current, ...this.#retired]) shut(use);
    this.#retired.clear();
  }
}

/** Private members of the client that would end the process, hang, or leak. */
function guard(use: Use): void {
  const inner = internals(use.client);
  const { createChannel, handleError } = inner;
  // Never awaited by the client: a rejection here (a failed discovery, say) would be unhandled.
  inner.handleError = (client, error) => handleError(client, error).catch(() => undefined);
  // No batch append, whose promises are shared by all clients of the process and outlive a stalled server;
  // no question about server features either, whose failure would reach us as a raw gRPC error.
  inner.supports = () => Promise.resolve(false);
  // The client has no way to close its connection.
  inner.createChannel = async () => {
    const channel = await createChannel();
    use.channels.push(channel);
    return channel;
  };
}

export function internals(client: EventStoreDBClient): ClientInternals {
  return client as unknown as ClientInternals;
}

function shut({ client, channels }: Use): void {
  client.dispose().catch(() => undefined);
  for (const channel of channels) {
    try {
      channel.close();
    } catch {
      // Closed by the client itself after an error.
    }
  }
}

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new NoAnswer(`no answer in ${Math.round(ms)} ms`));
    }, ms);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

/** The client's own word for an error, also for one of gRPC that the client has not seen; else undefined. */
export function errorType(error: unknown): string | undefined {
  const { type, code, metadata } = error as {
    type?: string;
    code?: unknown;
    metadata?: { get?: (name: string) => (string | Buffer)[] };
  };
  if (type !== undefined) return type;
  if (code === UNAUTHENTICATED) return 'access-denied';
  return metadata?.get?.('exception')[0]?.toString();
}

const UNAUTHENTICATED = 16;
const REACHED = new Set(['wrong-expected-version', 'stream-not-found', 'stream-deleted']);
const FOR_GOOD = new Set([
  'access-denied',
  'invalid-argument',
  'maximum-append-size-exceeded',
  'stream-deleted',
  'unsupported',
]);

/** Errors without a code are ours, but for the ones that say that there is no connection. */
function isUnreachable(error: unknown): boolean {
  const type = errorType(error);
  if (type === 'access-denied') return true;
  if (type !== undefined) return !(REACHED.has(type) || FOR_GOOD.has(type));
  return isBeyondUse(error) || (error as { code?: unknown }).code !== undefined;
}

function isBeyondUse(error: unknown): boolean {
  if (error instanceof NoAnswer || errorType(error) === 'deadline-exceeded') return true;
  return (
    error instanceof Error &&
    /Failed to discover|Channel (has been )?(shut|clos)/i.test(error.message)
  );
}

/** The cluster has said no, and will say it again. */
export function isRefusal(error: unknown): boolean {
  return FOR_GOOD.has(errorType(error) ?? '');
}

/** The request did not reach a server that could act on it. */
export function isUnsent(error: unknown): boolean {
  if (errorType(error) === 'not-leader') return true;
  if (!(error instanceof Error)) return false;
  return /No connection established|Failed to discover|Channel closed before|Name resolution failed/i.test(
    error.message,
  );
}

/** `reason` is for the log of the operator, not for the caller: it names hosts. */
export function unreachable(reason: string): Refusal {
  const refusal = new Refusal(
    'unavailable',
    'storage_unreachable',
    'the event store does not answer; nothing was stored',
    { fix: 'wait until the event store is back; retry with the same ids' },
  );
  refusal.cause = reason;
  return refusal;
}

/** For an error of which `isRefusal` is true. */
export function refusedByCluster(error: unknown): Refusal {
  const refusal = errorType(error) === 'access-denied' ? accessDenied() : refused();
  refusal.cause = String(error);
  return refusal;
}

function refused(): Refusal {
  return new Refusal(
    'unavailable',
    'storage_error',
    'the event store refuses; nothing was stored',
    { fix: 'look after the event store; retry with the same ids' },
  );
}
