import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import '#http/caller.js';
import { requireCredentials, type AuthenticateBearer } from '#http/credentials.js';
import { parseBodies } from '#http/fastify.js';
import { sendSecurityHeaders } from '#http/headers.js';
import { guardPerimeter } from '#http/perimeter.js';
import { publishResource } from '#http/protected-resource.js';
import { limitRates } from '#http/rate-limit.js';
import { Refusal } from '#kernel/refusal.js';
import { perimeterOf } from './address.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { People } from './people.js';
import type { Settings } from './settings.js';

/** What every request passes, in this order: who is meant, what leaves with the answer, who asks, how often. */
export async function openDoors(
  fastify: FastifyInstance,
  parts: {
    settings: Settings;
    log: Log;
    metrics: Metrics;
    people: People | undefined;
    authenticate: AuthenticateBearer;
  },
): Promise<void> {
  const { settings, log, metrics, people, authenticate } = parts;
  watchRequests(fastify, log, metrics);
  sendSecurityHeaders(fastify, settings.PUBLIC_URL?.startsWith('https:') === true);
  guardPerimeter(fastify, perimeterOf(settings));
  const signIn =
    people &&
    publishResource(fastify, {
      // Without a public address every name of this machine is as good; the perimeter let no other pass.
      baseFor: ({ headers }) => settings.PUBLIC_URL ?? `http://${headers.host}`,
      issuers: () => [people.rules.issuer],
      scope: people.rules.scope,
    });
  requireCredentials(fastify, authenticate, signIn);
  await limitRates(fastify, settings.RATE_LIMIT);
  parseBodies(fastify);
}

const REQUEST_ID = 'x-request-id';

/** The client's own id where it can be one, so that its log and ours meet. */
export function requestId({ headers }: { headers: Record<string, unknown> }): string {
  const given = headers[REQUEST_ID];
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : randomUUID();
}

/** Every answer says its request's id; every answer is measured, and logged at level `info`. No query, body or credential is. */
export function watchRequests(fastify: FastifyInstance, log: Log, metrics: Metrics): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header(REQUEST_ID, request.id);
    done();
  });
  const speaks = log.isLevelEnabled('info');
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const ms = reply.elapsedTime;
    const { statusCode: status } = reply.raw;
    metrics.answered(route, status, ms);
    if (speaks) log.info(answered(request, route, status, ms), 'answered');
    done();
  });
}

function answered(request: FastifyRequest, route: string, status: number, ms: number): object {
  const { id, method, caller } = request;
  const who = caller && {
    workspace: caller.workspace,
    principal: caller.principal,
    credential: caller.credential,
  };
  return { request: id, method, route, status, ms: Math.round(ms * 1_000) / 1_000, ...who };
}

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip'] as const;

/** `/metrics`, to whom the setting says. They name no workspace and nothing that a ledger holds. */
export function serveMetrics(
  fastify: FastifyInstance,
  metrics: Metrics,
  mode: Settings['METRICS'],
  authenticate: AuthenticateBearer,
): void {
  const isLocal = ({ headers, socket }: FastifyRequest): boolean =>
    LOOPBACK.test(socket.remoteAddress ?? '') && !FORWARDED.some((name) => name in headers);
  const isAdmin = async ({ headers }: FastifyRequest): Promise<boolean> => {
    const [, bearer] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
    const caller = bearer === undefined ? undefined : await authenticate(bearer);
    if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'no valid credential');
    return caller.kind !== 'agent' && (caller.role === 'admin' || caller.role === 'owner');
  };
  fastify.get('/metrics', async (request, reply) => {
    const open = mode === 'open' || (mode === 'loopback' && isLocal(request));
    if (!open && !(await isAdmin(request)))
      throw new Refusal('forbidden', 'requires_admin', 'only an admin or owner may do this');
    const { type, body } = await metrics.text();
    return reply.header('content-type', type).send(body);
  });
}
