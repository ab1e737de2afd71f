import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openSqliteStore, type SqliteStore } from '#event-store/sqlite.js';
import { serve } from './program.js';

// Reference of B1b and B2: what is left of an approval over HTTP without the product. Parses the same body, appends an event of the
// same bytes to the same stream through the same engine, answers in the same words.
let store: SqliteStore | undefined;

interface Body {
  reason: string;
  content_hash: string;
}

async function append(id: string, { reason, content_hash }: Body): Promise<string> {
  if (!store) throw new Error('not open');
  const topic = id.slice(0, id.lastIndexOf('.'));
  const command = randomUUID();
  const event = {
    id: randomUUID(),
    type: 'DecisionApproved',
    version: 1,
    workspace: 'main',
    actor: { principal: 'owner', kind: 'person', credential: 'prec_BENCHKEY' },
    causation: command,
    correlation: command,
    payload: JSON.stringify({
      content_hash,
      decision_id: id,
      effective_from: '2024-01-01',
      reason,
      starts_at: '2024-01-01T00:00:00.000Z',
      supersedes: [],
    }),
  } as const;
  const { position } = await store.append(`topic-main-${topic}`, 2, [event]);
  return JSON.stringify({
    decision_id: id,
    state: 'approved',
    topic,
    position: String(position),
    conflicts_opened: [],
  });
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    const id = decodeURIComponent(request.url?.split('/')[3] ?? '');
    const end = (status: number, text: string): void => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      };
      response.writeHead(status, headers).end(text);
    };
    append(id, body).then(
      (text) => {
        end(200, text);
      },
      (error: unknown) => {
        end(500, String(error));
      },
    );
  });
}

const server = createServer(answer);

async function open(dir: string): Promise<number> {
  store = await openSqliteStore(dir, { clock: Date.now });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function close(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await store?.close();
}

serve({ open, close });
