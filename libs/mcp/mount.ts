import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import '#http/caller.js';
import { Refusal } from '#kernel/refusal.js';
import type { McpEdge } from './edge.js';

const NOTHING = Buffer.alloc(0);

/**
 * Puts the edge at `/mcp`. The instance's own `onRequest` hook has set `request.caller` by then, or answered 401;
 * a request without a caller is refused. Headers that earlier hooks have set are kept.
 */
export async function mountMcp(fastify: FastifyInstance, edge: McpEdge): Promise<void> {
  await fastify.register(async (scope) => {
    // The edge reads bytes: another parser would round numbers before anyone could see it.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body);
    });
    scope.route({
      method: ['POST', 'GET', 'DELETE'],
      url: '/mcp',
      handler: (request, reply) => hand(edge, request, reply),
    });
  });
}

async function hand(edge: McpEdge, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { caller, body } = request;
  if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'a credential is needed');
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  reply.hijack();
  await edge.handle(caller, request.raw, reply.raw, Buffer.isBuffer(body) ? body : NOTHING);
}
