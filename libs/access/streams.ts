import { randomUUID } from 'node:crypto';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { organisationDecider } from './domain/organisation.js';
import { organisationCodec } from './domain/organisation.events.js';
import type { Request } from './domain/repetition.js';
import { workspaceDecider } from './domain/workspace.js';
import { workspaceCodec } from './domain/workspace.events.js';

/** The streams of this context: how each is named and folded. */
export const organisationStreams = { decider: organisationDecider, codec: organisationCodec };
export const workspaceStreams = { decider: workspaceDecider, codec: workspaceCodec };

export const organisationStream = (organisation: string): string => `organisation-${organisation}`;
export const workspaceStream = (workspace: string): string => `workspace-${workspace}`;

/** What is drawn for one command: the same for the same `request_id` of the same caller, else random. Ids hold no data of anybody. */
export interface Draw {
  /** Command id. */
  readonly command: string;
  /** Absent without a request_id. */
  readonly request: Request | undefined;
  /** Prefix and 16 hex digits. */
  readonly id: (prefix: string) => string;
}

export function draw(
  operation: string,
  place: { workspace: string; principal: string },
  input: { request_id?: string },
): Draw {
  const { request_id: key, ...asked } = input;
  const command =
    key === undefined ? randomUUID() : derivedId(operation, place.workspace, place.principal, key);
  return {
    command,
    request: key === undefined ? undefined : { id: command, sha256: sha256(canonicalJson(asked)) },
    id: (prefix) => prefix + sha256(`${prefix}:${command}`).slice(0, 16),
  };
}
