import { isUtf8 } from 'node:buffer';
import { cutAtDepth, parseJson } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { outgoingJson } from './answer.js';

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** JSON-RPC leaves −32000 to −32099 to servers. */
export const SERVER_ERROR = -32000;
export const SESSION_NOT_FOUND = -32001;

export type RequestId = string | number | null;

/** One message as it came, or the JSON-RPC error that answers bytes which hold none. */
export type Incoming =
  | { readonly message: unknown; readonly error?: undefined }
  | { readonly error: string; readonly message?: undefined };

/** Reads UTF-8 JSON without losing anything: numbers that a double rounds are refused with their path. */
export function readMessage(bytes: Uint8Array): Incoming {
  if (!isUtf8(bytes)) return { error: errorJson(null, PARSE_ERROR, 'Parse error: not UTF-8') };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return { message: parseJson(text) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.error === 'invalid_json')
      return { error: errorJson(null, PARSE_ERROR, 'Parse error: Invalid JSON') };
    const { message, ...rest } = relative(error).body();
    return {
      error: errorJson(idIn(text), INVALID_PARAMS, `Invalid params: ${message}`, {
        ...rest,
        message,
      }),
    };
  }
}

/** Of a text that holds what is refused: nested too deep, it need not even be JSON. */
function idIn(text: string): RequestId {
  try {
    return idOf(JSON.parse(cutAtDepth(text)));
  } catch {
    return null;
  }
}

export function errorJson(id: RequestId, code: number, message: string, data?: object): string {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  // The id is the caller's own and goes back as it came.
  return `{"jsonrpc":"2.0","error":${outgoingJson(error)},"id":${JSON.stringify(id)}}`;
}

/** The id under which an answer can be sent; null where there is none. */
export function idOf(message: unknown): RequestId {
  if (typeof message !== 'object' || message === null || !('method' in message)) return null;
  const id = 'id' in message ? message.id : null;
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as RequestId) : null;
}

const ARGUMENTS = 'params.arguments.';

/** Callers know their arguments, not the envelope around them. */
function relative(refusal: Refusal): Refusal {
  const path = refusal.path ?? '';
  if (!path.startsWith(ARGUMENTS)) return refusal;
  const problem = refusal.issues[0]?.problem ?? refusal.message;
  return invalid(path.slice(ARGUMENTS.length), problem, refusal.fix ?? '');
}
