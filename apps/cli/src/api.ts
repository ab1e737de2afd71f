import type { RefusalBody } from '#kernel/refusal.js';
import type { Connection } from './connection.js';
import { EXIT, Failure, type ExitCode } from './failure.js';
import { interruption } from './interruption.js';

/** Milliseconds until a silent server counts as unreachable. */
const PATIENCE = 120_000;

type Query = Readonly<Record<string, string | undefined>>;

/** The REST door of a server. Rejects with a `Failure` for every reply but a successful one. */
export interface Api {
  /** `path`: segments, each encoded here. */
  get<T>(path: readonly string[], query?: Query): Promise<T>;
  post<T>(path: readonly string[], body: object): Promise<T>;
}

export function restOf(connection: Connection): Api {
  return {
    get: async <T>(path: readonly string[], query: Query = {}) => {
      const response = await exchange(connection, addressOf(connection, path, query), {});
      return (await jsonOf(connection, response)) as T;
    },
    post: async <T>(path: readonly string[], body: object) => {
      const response = await exchange(connection, addressOf(connection, path, {}), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return (await jsonOf(connection, response)) as T;
    },
  };
}

function addressOf({ url }: Connection, path: readonly string[], query: Query): URL {
  const address = new URL(`${url}/v1/${path.map(encodeURIComponent).join('/')}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, value);
  return address;
}

/** One request with the key; a `Failure` when nothing answers or the server says that it cannot or may not serve it. */
export async function exchange(
  connection: Connection,
  address: URL | string,
  init: RequestInit,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${connection.key}`);
  const signals = [interruption, AbortSignal.timeout(PATIENCE), init.signal ?? undefined];
  const signal = AbortSignal.any(signals.filter((s) => s !== undefined));
  try {
    return await fetch(address, { ...init, headers, signal, redirect: 'error' });
  } catch (error) {
    throw unreachable(connection, error);
  }
}

async function jsonOf(connection: Connection, response: Response): Promise<unknown> {
  const body = await bodyOf(connection, response);
  if (response.ok && body !== undefined) return body;
  throw failureOfReply(connection, response.status, body);
}

/** The reply as JSON; undefined where it is something else. */
async function bodyOf(connection: Connection, response: Response): Promise<object | undefined> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw unreachable(connection, error);
  }
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

/** What a reply that is no success means; its own words where they are those of a Precedent server. */
export function failureOfReply(
  connection: Connection,
  status: number,
  body: object | undefined,
): Failure {
  if (!isProblem(body))
    return new Failure(EXIT.unreachable, {
      error: 'unreadable_reply',
      message: `what answers at ${connection.url} is no Precedent server (HTTP ${status})`,
      fix: 'set PRECEDENT_URL to the address that the server printed when it started',
    });
  const fix =
    status === 401
      ? { fix: `the key came from ${connection.keyFrom}: set PRECEDENT_KEY to a key of this server` }
      : {};
  return new Failure(exitOf(status), { ...body, ...fix });
}

function isProblem(body: object | undefined): body is RefusalBody {
  return (
    body !== undefined &&
    'error' in body &&
    typeof body.error === 'string' &&
    'message' in body &&
    typeof body.message === 'string'
  );
}

function exitOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAuthorised;
  return status === 503 ? EXIT.unreachable : EXIT.refused;
}

function unreachable(connection: Connection, error: unknown): Failure {
  if (interruption.aborted)
    return new Failure(EXIT.interrupted, { error: 'interrupted', message: 'interrupted' });
  return new Failure(EXIT.unreachable, {
    error: 'unreachable',
    message: `no server answers at ${connection.url} (${causeOf(error)})`,
    fix: 'start the server with "npm start", or set PRECEDENT_URL to where it runs',
  });
}

/** `fetch` hides what went wrong in the cause of its error. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no reply within ${PATIENCE / 1000} s`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return cause.message === '' ? code : cause.message;
}
