import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import '#http/caller.js';
import { part } from '#http/fastify.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import type { McpEdge } from './edge.js';
import type { Holds } from './sessions.js';

const NOTHING = Buffer.alloc(0);

/**
 * Puts the edge at `/mcp`. The instance's own `onRequest` hook has set `request.caller` by then, or answered 401;
 * a request without a caller is refused. Headers that earlier hooks have set are kept. With `authenticate` the credential of a
 * request is checked again for as long as its answer lasts.
 */
export async function mountMcp(
  fastify: FastifyInstance,
  edge: McpEdge,
  authenticate?: (bearer: string) => Promise<Caller | undefined>,
): Promise<void> {
  await fastify.register(
    part('mcp', async (scope) => {
      // The edge reads bytes: another parser would round numbers before anyone could see it.
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
        done(null, body);
      });
      scope.route({
        method: ['POST', 'GET', 'DELETE'],
        url: '/mcp',
        handler: (request, reply) =>
          hand(edge, request, reply, authenticate && holding(request, authenticate)),
      });
    }),
  );
}

async function hand(
  edge: McpEdge,
  request: FastifyRequest,
  reply: FastifyReply,
  holds?: Holds,
): Promise<void> {
  const { caller, body } = request;
  if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'a credential is needed');
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  reply.hijack();
  const bytes = Buffer.isBuffer(body) ? body : NOTHING;
  await edge.handle(caller, request.raw, reply.raw, bytes, holds);
}

function holding(
  { headers }: FastifyRequest,
  authenticate: (bearer: string) => Promise<Caller | undefined>,
): Holds {
  const [, bearer = ''] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  return async () => {
    try {
      return (await authenticate(bearer)) !== undefined;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  };
}
