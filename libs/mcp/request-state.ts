import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Caller, Clock } from '#kernel/context.js';
import { canonicalJson, sha256 } from '#kernel/json.js';

/** Takes the one use of a state; a `Refusal` if it was used before, by whatever server. Resolves when that is durable. */
export type SpendState = (
  caller: Caller,
  use: { id: string; tool: string; question: string },
) => Promise<void>;

export interface RequestStateOptions {
  /** At least 32 bytes that no client knows. The same on all servers that answer for one address. */
  readonly secret: Uint8Array;
  readonly spend: SpendState;
}

/** What a state says. Ids only: it travels through the client, in the open. */
export interface RequestState {
  readonly id: string;
  readonly tool: string;
  /** Keys of the questions so far; the last one awaits its answer. */
  readonly asked: readonly string[];
  readonly about: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly exp: number;
}

/** The call that a state belongs to: it is worth nothing in another. */
export interface Bound {
  readonly caller: Pick<Caller, 'workspace' | 'principal'>;
  readonly tool: string;
  readonly args: unknown;
}

/** A user needs minutes, not hours. */
export const STATE_LIVES_MS = 15 * 60_000;
const SECRET_BYTES = 32;
/** More than any state that was handed out. */
const MAX_STATE = 65_536;
const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/**
 * Seals and opens request states: `<payload>.<HMAC-SHA-256>`, both in base64url. The HMAC also covers the workspace, the principal
 * and a digest of the arguments, which are not in the payload.
 */
export class RequestStates {
  readonly #secret: Uint8Array;
  readonly #now: Clock;
  readonly spend: SpendState;

  constructor({ secret, spend }: RequestStateOptions, now: Clock) {
    if (secret.byteLength < SECRET_BYTES)
      throw new Error(`the secret of request states is shorter than ${SECRET_BYTES} bytes`);
    this.#secret = secret;
    this.#now = now;
    this.spend = spend;
  }

  seal(asked: readonly string[], about: RequestState['about'], bound: Bound): string {
    const id = randomBytes(16).toString('hex');
    const exp = this.#now() + STATE_LIVES_MS;
    const payload = Buffer.from(
      canonicalJson({ id, tool: bound.tool, asked, about, exp } satisfies RequestState),
    ).toString('base64url');
    return `${payload}.${this.#mac(payload, bound)}`;
  }

  /** Undefined for whatever this server did not hand out for this very call, or too long ago; never which of these. */
  open(text: unknown, bound: Bound): RequestState | undefined {
    const [, payload = '', mac = ''] =
      (typeof text === 'string' && text.length <= MAX_STATE ? FORM.exec(text) : null) ?? [];
    if (payload === '') return undefined;
    // As text: the last character of base64url has bits that decode to nothing.
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(payload, bound))))
      return undefined;
    const state = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as RequestState;
    return state.tool === bound.tool && this.#now() < state.exp ? state : undefined;
  }

  #mac(payload: string, { caller, tool, args }: Bound): string {
    const digest = sha256(canonicalJson(args));
    return createHmac('sha256', this.#secret)
      .update(canonicalJson([payload, caller.workspace, caller.principal, tool, digest]))
      .digest('base64url');
  }
}
