import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  Server,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type ListToolsResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Caller } from '#kernel/context.js';
import { answer, type Answer, type Answering } from './answer.js';
import type { Catalog } from './catalog.js';
import { Conversation } from './conversation.js';
import type { McpLimits } from './limits.js';
import { INVALID_PARAMS } from './message.js';
import { formOf } from './question.js';
import {
  STATE_LIVES_MS,
  type Bound,
  type RequestState,
  type RequestStates,
} from './request-state.js';
import type { Resources } from './resources.js';
import { NO_REQUEST } from './tool-request.js';
import type { Tool } from './tool.js';

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** Everything that is worked out once, at start. */
export interface Served extends Answering {
  readonly catalog: Catalog;
  readonly resources: Resources;
  readonly states: RequestStates;
  readonly serverInfo: ServerInfo;
  readonly instructions: string;
  readonly limits: McpLimits;
}

/** Where the message that is being handled came from. */
export interface Origin {
  /** What he may see is in it. */
  readonly caller: Caller;
  /** The client takes more than one message for an answer. */
  readonly streams: boolean;
}

const validator = new AjvJsonSchemaValidator();
/** Questions of one call to an older client, which holds it open; a newer one counts for itself. */
const MAX_ROUNDS = 200;
/** Where the client says nothing, the protocol takes this revision for granted. */
const UNSAID_REVISION = '2025-03-26';
/** From this revision on clients say what they can with every request, in an envelope that the SDK checks. */
const ENVELOPE_SINCE = '2026-07-28';

/* eslint-disable @typescript-eslint/no-deprecated -- McpServer converts every schema at every list; the low-level one takes ours as they are. */
/** The SDK's server around the catalogue: cheap, one for each request (HTTP), session or connection (stdio). */
export function sdkServer(served: Served, originOf: (context: ServerContext) => Origin): Server {
  const server = new Server(served.serverInfo, {
    capabilities: { tools: {}, resources: {} },
    instructions: served.instructions,
    jsonSchemaValidator: validator,
    inputRequired: { roundTimeoutMs: STATE_LIVES_MS, maxRounds: MAX_ROUNDS },
  });
  server.setRequestHandler('tools/list', (_request, context): ListToolsResult => {
    // The SDK types a schema as mutable JSON; ours are read-only and checked for what they may hold.
    return {
      tools: served.catalog.list(originOf(context).caller) as unknown as ListToolsResult['tools'],
    };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { caller, streams } = originOf(context);
    const tool = served.catalog.find(caller, params.name);
    if (!tool) throw new ProtocolError(INVALID_PARAMS, UNKNOWN_TOOL);
    const bound = { caller, tool: tool.name, args: params.arguments ?? {} };
    return callTool(served, tool, bound, { ...clientOf(server, context), streams }, context);
  });
  served.resources.serve(server);
  return server;
}

/** What the client of a request says of itself: with the request, or once when its session began. */
function clientOf(server: Server, { mcpReq, http }: ServerContext): Client {
  const negotiated = server.getNegotiatedProtocolVersion();
  const envelope: Envelope | undefined = mcpReq.envelope;
  // An older client's metadata is checked by nobody.
  const capabilities =
    negotiated !== undefined && negotiated >= ENVELOPE_SINCE
      ? envelope?.[CLIENT_CAPABILITIES_META_KEY]
      : server.getClientCapabilities();
  const revision = negotiated ?? http?.req?.headers.get('mcp-protocol-version') ?? UNSAID_REVISION;
  return { revision, canElicit: canElicit(capabilities) };
}

/* eslint-enable @typescript-eslint/no-deprecated */

/** The SDK types its own metadata as having no members. */
interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

interface Client {
  readonly revision: string;
  readonly canElicit: boolean;
}

/** A client that names no mode shows forms; that was all there was at first. */
export function canElicit(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return 'form' in elicitation || !('url' in elicitation);
}

async function callTool(
  served: Served,
  tool: Tool,
  bound: Bound & { caller: Caller; args: object },
  { streams, ...client }: Client & Pick<Origin, 'streams'>,
  { mcpReq }: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const { caller, args } = bound;
  const state = openState(served, mcpReq.requestState(), bound);
  if (!tool.interactive) return resultOf(await answer(served, tool, args, caller, NO_REQUEST));
  const exchange = {
    caller,
    ...client,
    tool: tool.name,
    signal: mcpReq.signal,
    state,
    responses: mcpReq.inputResponses ?? {},
    sendProgress: streams ? progressOf(mcpReq) : undefined,
  };
  const request = new Conversation(exchange, served.states, served.limits.progressEveryMs);
  try {
    const got = await answer(served, tool, args, caller, request);
    if (got.kind !== 'question') return resultOf(got);
    const { key, about = {} } = got.question;
    const asked = [...(state?.asked ?? []).filter((one) => one !== key), key];
    return inputRequired({
      inputRequests: { [key]: inputRequired.elicit(formOf(got.question, client.revision)) },
      requestState: served.states.seal(asked, about, bound),
    });
  } finally {
    request.end();
  }
}

/** Throws for a state that is none of ours, belongs to another call or is too old; all three get one answer. */
function openState(served: Served, sent: unknown, bound: Bound): RequestState | undefined {
  if (sent === undefined) return undefined;
  const state = served.states.open(sent, bound);
  if (state) return state;
  throw new ProtocolError(INVALID_PARAMS, 'Invalid or expired requestState', {
    error: 'invalid_request_state',
    message: 'requestState belongs to no open question of this call',
    path: 'requestState',
    issues: [{ path: 'requestState', problem: 'is not ours, is for another call, or is too old' }],
    fix: 'call the tool again without requestState and inputResponses',
  });
}

function progressOf({ _meta: meta, notify }: ServerContext['mcpReq']) {
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress: number, total?: number, message?: string): void => {
    const said = {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    // A client that is gone wants no progress.
    notify({ method: 'notifications/progress', params: said }).catch(() => undefined);
  };
}

function resultOf(got: Answer): CallToolResult {
  // Only tools that take their request can ask, and theirs is answered before.
  if (got.kind === 'question') throw new Error(`no tool may ask ${got.question.key} here`);
  const content: CallToolResult['content'] = [{ type: 'text', text: got.text }];
  return got.kind === 'result'
    ? { content, structuredContent: JSON.parse(got.json) as Record<string, unknown> }
    : { content, isError: true };
}

/** Does not name the tool: one answer for a hidden one and for none. */
export const UNKNOWN_TOOL = 'Unknown tool';
