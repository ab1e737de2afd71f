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
  const send = async (path: readonly string[], query: Query, init: RequestInit) => {
    const response = await exchange(connection, addressOf(connection, path, query), init);
    const body = await bodyOf(connection, response);
    if (response.ok && body !== undefined) return body;
    throw failureOfReply(connection, response.status, body);
  };
  return {
    get: async <T>(path: readonly string[], query: Query = {}) =>
      (await send(path, query, {})) as T,
    post: async <T>(path: readonly string[], body: object) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      try {
        return (await send(path, {}, init)) as T;
      } catch (error) {
        throw ofWrite(error);
      }
    },
  };
}

function addressOf({ url }: Connection, path: readonly string[], query: Query): URL {
  const address = new URL(`${url}/v1/${path.map(encodeURIComponent).join('/')}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, value);
  return address;
}

/** One request with the key. Whatever is answered is the caller's to read; a `Failure` when nothing is. */
export async function exchange(
  connection: Connection,
  address: URL | string,
  init: RequestInit,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${connection.key}`);
  const own = init.signal ? [init.signal] : [];
  const signal = AbortSignal.any([interruption, AbortSignal.timeout(PATIENCE), ...own]);
  try {
    // A redirect could carry the key elsewhere.
    return await fetch(address, { ...init, headers, signal, redirect: 'error' });
  } catch (error) {
    throw unreachable(connection, error);
  }
}

/** The reply as JSON; undefined where it is something else. */
export async function bodyOf(
  connection: Connection,
  response: Response,
): Promise<object | undefined> {
  try {
    const body: unknown = JSON.parse(await response.text());
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw unreachable(connection, error);
  }
}

/** What a reply that is no success means; in its own words where they are a Precedent server's. */
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
  const fix = `the key came from ${connection.keyFrom}: set PRECEDENT_KEY to a key of this server`;
  return new Failure(exitOf(status), status === 401 ? { ...body, fix } : body);
}

function isProblem(body: object | undefined): body is RefusalBody {
  const { error, message } = (body ?? {}) as Partial<RefusalBody>;
  return typeof error === 'string' && typeof message === 'string';
}

function exitOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAuthorised;
  return status === 503 ? EXIT.unreachable : EXIT.refused;
}

function unreachable(connection: Connection, error: unknown): Failure {
  if (interruption.aborted)
    return new Failure(EXIT.interrupted, { error: 'interrupted', message: 'interrupted' });
  const { why, code } = causeOf(error);
  const failure = new Failure(EXIT.unreachable, {
    error: 'unreachable',
    message: `no server answers at ${connection.url} (${why})`,
    fix: 'start the server with "npm start", or set PRECEDENT_URL to where it runs',
  });
  failure.cause = code;
  return failure;
}

/** `fetch` keeps what went wrong in the cause of its error. */
function causeOf(error: unknown): { why: string; code: string } {
  if (!(error instanceof Error)) return { why: String(error), code: '' };
  if (error.name === 'TimeoutError')
    return { why: `no reply within ${PATIENCE / 1000} s`, code: 'TIMEOUT' };
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return { why: cause.message === '' ? code : cause.message, code };
}

/** Errors of a connection that came about: what was sent may have arrived. */
const BROKEN =
  /^(?:ECONNRESET|EPIPE|ETIMEDOUT|TIMEOUT|UND_ERR_(?:SOCKET|HEADERS_TIMEOUT|BODY_TIMEOUT))$/;

/** Where no connection came about, nothing was written; where one broke or was given up, nobody here knows. */
function ofWrite(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { exit, problem } = error;
  if (problem.error === 'outcome_unknown') return new Failure(EXIT.incomplete, problem);
  const gaveUp = exit === EXIT.interrupted;
  const broke = problem.error === 'unreachable' && BROKEN.test(String(error.cause));
  if (!gaveUp && !broke) return error;
  return new Failure(gaveUp ? exit : EXIT.incomplete, {
    error: gaveUp ? problem.error : 'outcome_unknown',
    message: `${problem.message}: whether it was stored is not known here`,
    fix: 'run the same command again: it shows what became of it',
  });
}
