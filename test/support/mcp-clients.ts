import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export type { ModernClient, LegacyClient };

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';

const INFO = { name: 'precedent-tests', version: '1.0.0' };

/** What the user of a client sees, and what he answers. A client without it declares that it cannot ask. */
export type AskUser = (form: { message: string; requestedSchema: object }) => Promise<{
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean>;
}>;

const capabilitiesOf = (ask: AskUser | undefined) => ({
  capabilities: ask ? { elicitation: {} } : {},
});

/** The SDK's second line, held to the newest revision: it fails rather than fall back. */
function modernClient(ask?: AskUser): ModernClient {
  const client = new ModernClient(INFO, {
    versionNegotiation: { mode: { pin: MODERN } },
    ...capabilitiesOf(ask),
  });
  if (ask)
    client.setRequestHandler('elicitation/create', ({ params }) =>
      ask(params as Parameters<AskUser>[0]),
    );
  return client;
}

function legacyClient(ask?: AskUser): LegacyClient {
  const client = new LegacyClient(INFO, capabilitiesOf(ask));
  if (ask)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      ask(params as Parameters<AskUser>[0]),
    );
  return client;
}

function bearer(key: string) {
  return { requestInit: { headers: { authorization: `Bearer ${key}` } } };
}

/** A client of revision 2026-07-28 over HTTP. `url` is the full address of the endpoint. */
export async function connectModern(
  url: string,
  key: string,
  ask?: AskUser,
): Promise<ModernClient> {
  const client = modernClient(ask);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), bearer(key)));
  return client;
}

/** The SDK's first line, which stops at revision 2025-11-25, over HTTP. */
export async function connectLegacy(
  url: string,
  key: string,
  ask?: AskUser,
): Promise<LegacyClient> {
  const client = legacyClient(ask);
  await client.connect(asTransport(new LegacyHttp(new URL(url), bearer(key))));
  return client;
}

export async function connectStdioModern(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ask?: AskUser,
): Promise<ModernClient> {
  const client = modernClient(ask);
  await client.connect(new StdioClientTransport({ command, args: [...args], env: { ...env } }));
  return client;
}

export async function connectStdioLegacy(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ask?: AskUser,
): Promise<LegacyClient> {
  const client = legacyClient(ask);
  await client.connect(new LegacyStdio({ command, args: [...args], env: { ...env } }));
  return client;
}

/** The first line's own types do not hold under exactOptionalPropertyTypes. */
function asTransport(transport: LegacyHttp): Parameters<LegacyClient['connect']>[0] {
  return transport;
}
