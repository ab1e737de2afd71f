import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import './caller.js';
import type { Caller } from '#kernel/context.js';
import { parseJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { problemOf, sendProblem } from './problem.js';

/** Bytes of a request body at most. */
export const BODY_LIMIT = 33_554_432;

/** Paths where every message needs a credential. */
const GUARDED = /^\/(?:v1|mcp)(?:[/?]|$)/;

/**
 * Sets `request.caller`, or answers 401 before a byte of the body is read: for every message, whatever it is.
 * Missing, malformed, unknown and revoked credentials get one and the same answer.
 */
export function requireCredentials(
  fastify: FastifyInstance,
  authenticate: (bearer: string) => Promise<Caller | undefined>,
): void {
  fastify.addHook('onRequest', async (request, reply) => {
    if (!GUARDED.test(request.url)) return;
    const [, bearer] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    const caller = bearer === undefined ? undefined : await authenticate(bearer);
    if (caller) {
      request.caller = caller;
      return;
    }
    const refusal = new Refusal('unauthenticated', 'unauthenticated', 'no valid credential', {
      fix: 'send the header `Authorization: Bearer <key>`; the server printed a key at its first start',
    });
    sendProblem(
      reply,
      problemOf(refusal, () => undefined),
    );
    return reply;
  });
}

/** Reads JSON bodies from their bytes: broken UTF-8 and numbers that a double would round are refused, never repaired (B32). */
export function parseBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (_request, body: Buffer, done) => {
      try {
        if (!isUtf8(body)) throw brokenUtf8();
        done(null, body.length === 0 ? undefined : parseJson(body.toString('utf8')));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

function brokenUtf8(): Refusal {
  return new Refusal('invalid', 'invalid_encoding', 'the body is not UTF-8', {
    issues: [{ path: '', problem: 'holds bytes that are no UTF-8' }],
    fix: 'encode the body as UTF-8',
  });
}
