import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '#kernel/refusal.js';
import { problemOf, sendProblem } from './problem.js';

/** From where the server may be addressed. */
export interface Perimeter {
  /** Values of the Host header, `name` for any port or `name:port`. */
  readonly hosts: readonly string[];
  /** Origins of browser pages beside the server's own, as `scheme://host[:port]`. */
  readonly origins: readonly string[];
}

/** Names that only reach this machine. */
export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'] as const;

/** Probes address a server by whatever address it has, and learn nothing of the ledger. */
const OPEN = /^\/health(?:[/?]|$)/;
/** Host headers that were found good; a client sends the same one with every request. */
const REMEMBERED = 64;

/**
 * Refuses, before anything else is looked at, requests for a name that is not this server's and requests of browser pages that are
 * not its own: a page whose name was bound again to this address (DNS rebinding) fails both.
 * No CORS header is ever sent, so that no page of another origin reads an answer.
 */
export function guardPerimeter(fastify: FastifyInstance, { hosts, origins }: Perimeter): void {
  const names = new Set(hosts.map((h) => h.toLowerCase()));
  const pages = new Set(origins.map((o) => o.toLowerCase()));
  const good = new Set<string>();

  const isOurs = (host: string): boolean => {
    if (good.has(host)) return true;
    const lower = host.toLowerCase();
    if (!names.has(lower) && !names.has(lower.replace(/:\d{1,5}$/, ''))) return false;
    if (good.size < REMEMBERED) good.add(host);
    return true;
  };

  const refusalFor = ({ headers, url }: FastifyRequest): Refusal | undefined => {
    const { host, origin } = headers;
    if (!OPEN.test(url) && (host === undefined || !isOurs(host))) return strangeHost();
    if (origin === undefined || pages.has(origin.toLowerCase())) return undefined;
    const from = URL.parse(origin)?.host;
    return from !== undefined && from === host?.toLowerCase() && isOurs(from)
      ? undefined
      : strangeOrigin();
  };

  fastify.addHook('onRequest', (request, reply, done) => {
    const refusal = refusalFor(request);
    if (!refusal) return done();
    sendProblem(
      reply,
      problemOf(refusal, () => undefined),
    );
  });
}

function strangeHost(): Refusal {
  return new Refusal('forbidden', 'host_not_allowed', 'the Host header names another server', {
    fix: 'address the server by a name it knows, or add the name to PRECEDENT_ALLOWED_HOSTS',
  });
}

function strangeOrigin(): Refusal {
  return new Refusal('forbidden', 'origin_not_allowed', 'pages of this origin may not call here', {
    fix: 'call from the server’s own pages, or add the origin to PRECEDENT_ALLOWED_ORIGINS',
  });
}
