import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import './caller.js';
import { Refusal } from '#kernel/refusal.js';
import { problemOf, sendProblem } from './problem.js';

const WINDOW_MS = 60_000;
/** Principals that are counted at once; beyond that the one that came first is forgotten. */
const COUNTED = 20_000;

interface Window {
  left: number;
  ends: number;
}

/**
 * At most `perMinute` requests of one principal, whichever of his credentials he shows; 0 for no limit. Counted after the credential
 * and before the body, in this process. Answers carry `RateLimit` and `RateLimit-Policy`, a refusal `Retry-After` too.
 * Every request passes here: without a promise it costs a tenth of what the plugin's own hook does.
 */
export async function limitRates(fastify: FastifyInstance, perMinute: number): Promise<void> {
  await fastify.register(rateLimit, { global: false });
  if (perMinute === 0) return;
  const windows = new Map<string, Window>();
  const policy = `"principal";q=${perMinute};w=${WINDOW_MS / 1000}`;
  fastify.addHook('onRequest', (request, reply, done) => {
    if (!request.caller) return done();
    const { workspace, principal } = request.caller;
    // Whole milliseconds: with fractions, what is left of a window could round to more than a window.
    const now = Math.trunc(performance.now());
    const window = windowOf(windows, `${workspace} ${principal}`, now, perMinute);
    window.left -= 1;
    const seconds = Math.ceil((window.ends - now) / 1_000);
    void reply
      .header('ratelimit-policy', policy)
      .header('ratelimit', `"principal";r=${Math.max(0, window.left)};t=${seconds}`);
    if (window.left >= 0) return done();
    refuse(reply, seconds);
  });
}

function windowOf(
  windows: Map<string, Window>,
  key: string,
  now: number,
  perMinute: number,
): Window {
  const known = windows.get(key);
  if (known && known.ends > now) return known;
  const window = { left: perMinute, ends: now + WINDOW_MS };
  windows.delete(key);
  windows.set(key, window);
  if (windows.size > COUNTED) windows.delete(windows.keys().next().value ?? key);
  return window;
}

/** Counts what a stranger may try. Resolves with the seconds to wait, 0 for none. */
export type AttemptLimit = (request: FastifyRequest) => Promise<number>;

/** At most `max` in `windowMs` for each key. */
export function attemptLimit(
  fastify: FastifyInstance,
  limit: { max: number; windowMs: number; key: (request: FastifyRequest) => string },
): AttemptLimit {
  const { max, windowMs, key } = limit;
  const count = fastify.createRateLimit({ max, timeWindow: windowMs, keyGenerator: key });
  return async (request) => {
    const counted = await count(request);
    return !counted.isAllowed && counted.isExceeded ? counted.ttlInSeconds : 0;
  };
}

function refuse(reply: FastifyReply, seconds: number): void {
  const refusal = new Refusal('rate_limited', 'rate_limited', 'too many requests', {
    fix: `wait ${seconds} s, then send fewer at once`,
  });
  void reply.header('retry-after', String(seconds));
  sendProblem(
    reply,
    problemOf(refusal, () => undefined),
  );
}
