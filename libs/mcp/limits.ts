import { BODY_LIMIT } from '#http/fastify.js';

/** What the MCP door admits and keeps. docs/architecture.md lists them. */
export const MCP_LIMITS = {
  /** Bytes of one line over stdio, without its end: a message has the same limit over both transports. */
  lineBytes: BODY_LIMIT,
  /** Bytes of a read result as JSON in UTF-8. It leaves twice, as text and as structure. */
  resultBytes: 262_144,
  /** Sessions that are kept at once, of all clients and of one principal. */
  sessions: 1_024,
  sessionsOfPrincipal: 32,
  /** A session that no request has used for so long is closed. */
  sessionIdleMs: 30 * 60_000,
  /** How often the credential behind an open stream or session is looked at again. */
  recheckMs: 2_000,
  /** The protocol's clients wait 20 s or more for a sign of life. */
  progressEveryMs: 15_000,
};

export type McpLimits = typeof MCP_LIMITS;
