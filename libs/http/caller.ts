import type { Caller } from '#kernel/context.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the credential check, before the body is read; absent where no credential held. */
    caller?: Caller;
  }
}
