import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  classifyInboundRequest,
} from '@modelcontextprotocol/server';
import type { Caller } from '#kernel/context.js';
import { answer } from './answer.js';
import type { ListedTool } from './catalog.js';
import type { Served } from './sdk.js';
import { NO_REQUEST } from './tool-request.js';
import type { Tool } from './tool.js';

type Members = Readonly<Record<string, unknown>>;

/** A message that is canonical in all that does not depend on the era. */
interface Canonical {
  readonly id: string | number;
  readonly method: string;
  readonly params: Members;
  readonly meta: Members;
}

/** What an era puts behind the members of a result, as JSON. */
interface Era {
  readonly afterCall: string;
  readonly afterList: string;
}

const MODERN = '2026-07-28';
const LEGACY_VERSIONS: ReadonlySet<string> = new Set(SUPPORTED_PROTOCOL_VERSIONS);
const LEGACY: Era = { afterCall: '', afterList: '' };

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params']);
const PARAMS: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['tools/call', new Set(['name', 'arguments', '_meta'])],
  ['tools/list', new Set(['_meta'])],
]);
const ENVELOPE = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
]);
/** Names that begin so belong to the protocol, and it says what they hold. */
const RESERVED = 'io.modelcontextprotocol/';

const MAX_ENVELOPE = 2000;
const MAX_ENVELOPES = 1000;
const PLAIN_HOST = /^[\w.:[\]-]+$/;

/**
 * Answers canonical `tools/call` and `tools/list` requests as the SDK would, to the byte, at a small part of its cost.
 * What is canonical is written down here and nowhere else; all other requests are the SDK's.
 * hot-path.spec.ts holds the two equal.
 */
export class HotPath {
  /** Requests answered here. */
  taken = 0;
  readonly #served: Served;
  readonly #modern: Era;
  readonly #lists = new WeakMap<readonly ListedTool[], string>();
  /** What clients say of themselves, the same with every request, and whether the SDK takes it. */
  readonly #envelopes = new Map<string, boolean>();
  #host = '';

  constructor(served: Served) {
    this.#served = served;
    const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: served.serverInfo });
    this.#modern = {
      afterCall: `,"resultType":"complete","_meta":${meta}`,
      afterList: `,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":${meta}`,
    };
  }

  /** The body of a 200 answer. Undefined where the SDK must answer; then nothing has run. */
  take(caller: Caller, req: IncomingMessage, message: unknown): Promise<string> | undefined {
    const request = canonicalIn(message);
    if (!request || !this.#isAddressed(req)) return undefined;
    const era = this.#eraOf(req.headers, request);
    if (!era) return undefined;
    if (request.method === 'tools/list') return this.#list(caller, request, era);
    const { name, arguments: args = {} } = request.params;
    const tool = this.#served.catalog.find(caller, name as string);
    if (!tool || tool.interactive || !isMembers(args)) return undefined;
    return this.#call(tool, args, caller, request, era);
  }

  /** The SDK makes an URL of host and path, and fails where they give none. */
  #isAddressed({ url, headers: { host } }: IncomingMessage): boolean {
    if (host === undefined || url?.startsWith('/') !== true) return false;
    if (host === this.#host) return true;
    if (!PLAIN_HOST.test(host) || !URL.canParse(`http://${host}/`)) return false;
    this.#host = host;
    return true;
  }

  /** Undefined where headers and envelope do not name one era that is served. */
  #eraOf(headers: IncomingHttpHeaders, { method, params, meta }: Canonical): Era | undefined {
    const version = headers['mcp-protocol-version'];
    if (version !== MODERN) return isLegacy(version, meta) ? LEGACY : undefined;
    const agrees =
      meta[PROTOCOL_VERSION_META_KEY] === MODERN &&
      headers['mcp-method'] === method &&
      headers['mcp-name'] === params['name'];
    return agrees && this.#holds(meta) ? this.#modern : undefined;
  }

  /** Whether the SDK takes the envelope: a slow question, asked once for each client. */
  #holds(meta: Members): boolean {
    const capabilities = meta[CLIENT_CAPABILITIES_META_KEY];
    const info = meta[CLIENT_INFO_META_KEY];
    const key = JSON.stringify(info === undefined ? [capabilities] : [capabilities, info]);
    if (key.length > MAX_ENVELOPE) return false;
    const known = this.#envelopes.get(key);
    if (known !== undefined) return known;
    const _meta = {
      [PROTOCOL_VERSION_META_KEY]: MODERN,
      [CLIENT_CAPABILITIES_META_KEY]: capabilities,
      ...(info === undefined ? {} : { [CLIENT_INFO_META_KEY]: info }),
    };
    const body = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta } };
    const holds = classifyInboundRequest({ httpMethod: 'POST', body }).kind === 'modern';
    if (this.#envelopes.size >= MAX_ENVELOPES) this.#envelopes.clear();
    this.#envelopes.set(key, holds);
    return holds;
  }

  async #list(caller: Caller, { id }: Canonical, { afterList }: Era): Promise<string> {
    this.taken += 1;
    const tools = this.#served.catalog.list(caller);
    let json = this.#lists.get(tools);
    if (json === undefined) this.#lists.set(tools, (json = JSON.stringify(tools)));
    return `{"result":{"tools":${json}${afterList}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
  }

  async #call(
    tool: Tool,
    args: Members,
    caller: Caller,
    { id }: Canonical,
    { afterCall }: Era,
  ): Promise<string> {
    this.taken += 1;
    const got = await answer(this.#served, tool, args, caller, NO_REQUEST);
    if (got.kind === 'question') throw new Error(`${tool.name} asks without its request`);
    const content = `[{"type":"text","text":${JSON.stringify(got.text)}}]`;
    const rest = got.kind === 'result' ? `"structuredContent":${got.json}` : '"isError":true';
    return `{"result":{"content":${content},${rest}${afterCall}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
  }
}

function canonicalIn(message: unknown): Canonical | undefined {
  if (!isMembers(message) || !hasOnly(message, MEMBERS)) return undefined;
  const { jsonrpc, id, method, params = {} } = message;
  const names = PARAMS.get(method);
  if (jsonrpc !== '2.0' || !isToken(id) || !names) return undefined;
  if (!isMembers(params) || !hasOnly(params, names)) return undefined;
  const { _meta: meta = {} } = params;
  return isMeta(meta) ? { id, method: method as string, params, meta } : undefined;
}

function isMeta(meta: unknown): meta is Members {
  if (!isMembers(meta)) return false;
  for (const name in meta) if (name.startsWith(RESERVED) && !ENVELOPE.has(name)) return false;
  const { progressToken } = meta;
  return progressToken === undefined || isToken(progressToken);
}

/** Without a header it is an older client still; an envelope that names a version speaks of the newer era. */
function isLegacy(version: string | string[] | undefined, meta: Members): boolean {
  if (version !== undefined && !(typeof version === 'string' && LEGACY_VERSIONS.has(version)))
    return false;
  return !(PROTOCOL_VERSION_META_KEY in meta);
}

/** The protocol has two names of this form: request ids and progress tokens. */
function isToken(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** `__proto__` may be a name in JSON; the SDK drops it. */
function isMembers(value: unknown): value is Members {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !Object.hasOwn(value, '__proto__')
  );
}

function hasOnly(value: Members, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false;
  return true;
}
