import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { parseJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';

/** Bytes of a request body at most. */
export const BODY_LIMIT = 33_554_432;

/** Reads JSON bodies from their bytes: broken UTF-8, numbers that a double would round and deep nesting are refused, never repaired (B32). */
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

/** A part of the server with parsers and hooks of its own. Without a name Fastify looks for one among all modules that are loaded. */
export function part(
  name: string,
  open: (scope: FastifyInstance) => Promise<void>,
): (scope: FastifyInstance) => Promise<void> {
  return Object.assign(open, { [Symbol.for('fastify.display-name')]: name });
}

function brokenUtf8(): Refusal {
  return new Refusal('invalid', 'invalid_encoding', 'the body is not UTF-8', {
    issues: [{ path: '', problem: 'holds bytes that are no UTF-8' }],
    fix: 'encode the body as UTF-8',
  });
}
