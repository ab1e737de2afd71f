import { OWNER_KEY } from './files.js';
import { requestText } from './http.js';
import { topicAt } from './seed.js';

const PROTOCOL = '2026-07-28';

/** What every answer holds to a question about a decided topic. */
export const ANSWERED = '"structuredContent":{"state":"verified"';

/** `resolve_decision_state` over MCP about the n-th topic, as a whole HTTP request. */
export function resolveRequest(n: number, id: number): string {
  const { topic, claim } = topicAt(n);
  const headers = {
    authorization: `Bearer ${OWNER_KEY}`,
    'mcp-protocol-version': PROTOCOL,
    'mcp-method': 'tools/call',
    'mcp-name': 'resolve_decision_state',
  };
  return requestText('/mcp', headers, {
    method: 'tools/call',
    params: {
      name: 'resolve_decision_state',
      arguments: { question: 'What is decided here?', topic, scope: claim.scope },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': PROTOCOL,
        'io.modelcontextprotocol/clientInfo': { name: 'precedent-bench', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
    jsonrpc: '2.0',
    id,
  });
}
