import { channel } from 'node:diagnostics_channel';

/** Channel of `node:diagnostics_channel` on which doors tell of every refusal they show. */
export const REFUSALS = 'precedent:refusal';
export interface RefusalNotice {
  door: 'rest' | 'mcp';
  /** The member `error` of what the caller got. */
  reason: string;
}

const refusals = channel(REFUSALS);

/** For counting: costs nothing where nobody listens. */
export function noteRefusal(door: RefusalNotice['door'], reason: string): void {
  if (refusals.hasSubscribers) refusals.publish({ door, reason } satisfies RefusalNotice);
}

/** Channel on which the MCP door tells of every message, as it came and before it is answered. */
export const MCP_MESSAGES = 'precedent:mcp-message';

const messages = channel(MCP_MESSAGES);

/** For traces, which belong to what a message says; costs nothing where nobody listens. */
export function noteMcpMessage(message: unknown): void {
  if (messages.hasSubscribers) messages.publish(message);
}
