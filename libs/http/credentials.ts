import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import './caller.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { BEARER, problemOf, sendProblem } from './problem.js';

/** Paths where every message needs a credential. */
const GUARDED = /^\/(?:v1|mcp)(?:[/?]|$)/;

/** Who a bearer stands for. Undefined for one that does not hold; a `Refusal` where more may be said: `invalid_token`, `insufficient_scope`. */
export type AuthenticateBearer = (bearer: string) => Promise<Caller | undefined>;

/** What a client without a credential is told, so that it can get one. */
export interface SignIn {
  /** Address of the metadata (RFC 9728) of the resource at `path`. */
  metadataOf(request: FastifyRequest, path: '/mcp' | ''): string;
  /** Scopes to ask for, separated by spaces; empty for none. */
  readonly scope: string;
}

/**
 * Sets `request.caller`, or answers 401 or 403 before a byte of the body is read: for every message, whatever it is.
 * Missing, malformed, unknown and revoked keys get one and the same answer.
 */
export function requireCredentials(
  fastify: FastifyInstance,
  authenticate: AuthenticateBearer,
  signIn?: SignIn,
): void {
  fastify.addHook('onRequest', async (request, reply) => {
    if (!GUARDED.test(request.url)) return;
    const [, bearer] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    try {
      const caller = bearer === undefined ? undefined : await authenticate(bearer);
      if (!caller) throw unauthenticated(signIn);
      request.caller = caller;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      challenge(request, reply, error, signIn);
      return reply;
    }
  });
}

function unauthenticated(signIn: SignIn | undefined): Refusal {
  const signing = signIn ? ', or sign in where the header WWW-Authenticate says' : '';
  return new Refusal('unauthenticated', 'unauthenticated', 'no valid credential', {
    fix: `send the header \`Authorization: Bearer <key>\`; the server printed a key at its first start${signing}`,
  });
}

/** RFC 6750 and RFC 9728: what is wrong with the credential, and where a better one is to be had. */
function challenge(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal,
  signIn: SignIn | undefined,
): void {
  if (signIn && (refusal.kind === 'unauthenticated' || refusal.error === 'insufficient_scope')) {
    const parts = [BEARER];
    if (refusal.error !== 'unauthenticated')
      parts.push(
        `error="${refusal.error === 'insufficient_scope' ? refusal.error : 'invalid_token'}"`,
        `error_description="${refusal.message}"`,
      );
    if (signIn.scope !== '') parts.push(`scope="${signIn.scope}"`);
    const path = request.url.startsWith('/mcp') ? '/mcp' : '';
    parts.push(`resource_metadata="${signIn.metadataOf(request, path)}"`);
    void reply.header('www-authenticate', parts.join(', '));
  }
  sendProblem(
    reply,
    problemOf(refusal, () => undefined),
  );
}
