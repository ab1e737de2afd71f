import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './program.js';

// Reference of B3: parses each request and answers with one and the same JSON under its id.
let reply: Record<string, unknown> = {};

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown };
    const text = JSON.stringify({ ...reply, id });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    response.writeHead(200, headers).end(text);
  });
});

async function open(body: Record<string, unknown>): Promise<number> {
  reply = body;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

serve({ open });
