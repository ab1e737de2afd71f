/** Single messages to an MCP endpoint, as no client library would send them. */

export interface RawReply {
  status: number;
  headers: Headers;
  /** The last message of the answer, whether it came as JSON or as a stream of events. */
  body: Body;
  /** All messages of it. */
  messages: Body[];
}

export interface Body {
  id?: unknown;
  method?: string;
  params?: Members;
  result?: Members;
  error?: { code: number; message: string; data?: Members };
}

/** Taken as they come; a wrong shape fails the expectation. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Members = Record<string, any>;

export interface Sent {
  key?: string;
  headers?: Record<string, string>;
  /** Hangs up after so many messages. */
  until?: number;
}

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';

export async function post(url: string, message: unknown, sent: Sent = {}): Promise<RawReply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${sent.key ?? 'key-member'}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...sent.headers,
    },
    body: JSON.stringify(message),
  });
  const messages = messagesIn(await textOf(response, sent.until));
  const { status, headers } = response;
  return { status, headers, body: messages.at(-1) ?? {}, messages };
}

async function textOf(response: Response, until?: number): Promise<string> {
  if (until === undefined) return response.text();
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (messagesIn(text).length >= until) break;
  }
  return text;
}

function messagesIn(text: string): Body[] {
  if (text.startsWith('{')) return [JSON.parse(text) as Body];
  return text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as Body);
}

/** `tools/call` of revision 2026-07-28, from a client that can ask its user unless `capabilities` say otherwise. */
export function callModern(
  url: string,
  name: string,
  args: object,
  more: Record<string, unknown> = {},
  { capabilities = { elicitation: {} }, ...sent }: Sent & { capabilities?: object } = {},
): Promise<RawReply> {
  const _meta = {
    [`${META}protocolVersion`]: MODERN,
    [`${META}clientCapabilities`]: capabilities,
    ...(more['_meta'] as object | undefined),
  };
  const params = { name, arguments: args, ...more, _meta };
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name };
  return post(
    url,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    { ...sent, headers: { ...headers, ...sent.headers } },
  );
}

/** `initialize` of an older client; `session` is undefined where it was given none. */
export async function initialize(
  url: string,
  {
    capabilities = { elicitation: {} },
    revision = '2025-11-25',
    ...sent
  }: Sent & {
    capabilities?: object;
    revision?: string;
  } = {},
): Promise<RawReply & { session: string | undefined }> {
  const params = {
    protocolVersion: revision,
    capabilities,
    clientInfo: { name: 'raw', version: '1' },
  };
  const reply = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, sent);
  return { ...reply, session: reply.headers.get('mcp-session-id') ?? undefined };
}
