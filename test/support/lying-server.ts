import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Exchange {
  method: string;
  /** Path and query. */
  url: string;
  request: unknown;
  status: number;
  reply: unknown;
}

/** What to say instead; undefined for the truth. */
export type Lie = (exchange: Exchange) => unknown;

/** Passes everything on to an honest server, and tells what it says as `lie` wants it. A `Buffer` is sent as bytes. */
export class LyingServer {
  told = 0;
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async before(honest: string, lie: Lie): Promise<LyingServer> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void (async () => {
          const { method = 'GET', url = '/' } = request;
          const body = Buffer.concat(chunks);
          const headers = new Headers({ authorization: request.headers.authorization ?? '' });
          if (body.length > 0) headers.set('content-type', 'application/json');
          const real = await fetch(`${honest}${url}`, {
            method,
            headers,
            ...(body.length > 0 ? { body } : {}),
          });
          const bytes = Buffer.from(await real.arrayBuffer());
          const said = lie({
            method,
            url,
            request: parsed(body),
            status: real.status,
            reply: parsed(bytes),
          });
          if (said !== undefined) lying.told += 1;
          const isBytes = said === undefined || Buffer.isBuffer(said);
          response
            .writeHead(said === undefined ? real.status : 200, {
              'content-type': real.headers.get('content-type') ?? 'application/json',
            })
            .end(isBytes ? (said ?? bytes) : JSON.stringify(said));
        })().catch(() => response.destroy());
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const lying = new LyingServer(server, url);
    return lying;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
