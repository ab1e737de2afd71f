import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SignIn } from './credentials.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

export interface ProtectedResource {
  /** Address under which the client of this request reaches the server, without a slash at its end: clients compare it with theirs. */
  baseFor(request: FastifyRequest): string;
  /** The authorization servers whose tokens are taken. */
  issuers(): readonly string[];
  readonly scope: string;
}

/** What clients need to sign in by themselves: RFC 9728 metadata at the root for the REST API and at the suffixed address for `/mcp`. */
export function publishResource(fastify: FastifyInstance, resource: ProtectedResource): SignIn {
  for (const path of ['', '/mcp'])
    fastify.get(`${WELL_KNOWN}${path}`, async (request, reply) => {
      void reply.header('cache-control', 'public, max-age=300');
      return {
        resource: `${resource.baseFor(request)}${path}`,
        resource_name: 'Precedent',
        authorization_servers: resource.issuers(),
        bearer_methods_supported: ['header'],
        ...(resource.scope === '' ? {} : { scopes_supported: [resource.scope] }),
      };
    });
  return {
    metadataOf: (request, path) => `${resource.baseFor(request)}${WELL_KNOWN}${path}`,
    scope: resource.scope,
  };
}
