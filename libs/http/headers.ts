import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import helmet from 'helmet';

/**
 * Security headers on every answer. What this server sends is data: nothing in it may load, run or be framed.
 * Helmet works them out once, here; made anew for each request they would cost as much as a small answer.
 * `secure`: clients reach the server by https.
 */
export function securityHeaders(secure: boolean): Readonly<Record<string, string>> {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], formAction: ["'none'"] },
    },
    strictTransportSecurity: secure,
    xFrameOptions: { action: 'deny' },
    // These say nothing to who reads JSON.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })(response.req, response, () => undefined);
  return Object.fromEntries(
    Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
  );
}

/** Answers of `/v1` and `/mcp` are somebody's own: nobody on the way keeps them. */
export function sendSecurityHeaders(fastify: FastifyInstance, secure: boolean): void {
  const headers = { ...securityHeaders(secure), 'cache-control': 'no-store' };
  fastify.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
