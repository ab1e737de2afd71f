import { fastify, type FastifyInstance } from 'fastify';
import type { Caller } from '#kernel/context.js';
import { type McpEdge } from '#mcp/edge.js';
import { mountMcp } from '#mcp/mount.js';
import { fixtureCallers, fixtureEdge, type Defect } from './mcp-fixture.js';

type Authenticate = (bearer: string) => Promise<Caller | undefined>;

/** A bare Fastify with a bearer hook of its own in front of the fixture's edge. */
export async function fixtureServer(
  defects: Defect[] = [],
  port = 0,
  edge: McpEdge = fixtureEdge(defects),
  authenticate: Authenticate = async (bearer) => fixtureCallers[bearer],
): Promise<{ app: FastifyInstance; url: string }> {
  const app = fastify();
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-before', 'kept');
    const key = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const caller = await authenticate(key);
    if (caller) request.caller = caller;
    else return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'no' });
  });
  await mountMcp(app, edge, authenticate);
  return { app, url: `${await app.listen({ port, host: '127.0.0.1' })}/mcp` };
}
