import { connect, type Socket } from 'node:net';

/** One load of a server: every request once, over keep-alive connections that each wait for their answer. */
export interface Load {
  port: number;
  connections: number;
  /** Whole HTTP/1.1 requests. */
  requests: readonly string[];
  /** What every good answer holds, and its status. */
  expect: string;
  status?: number;
}

export interface Loaded {
  perSecond: number;
  p50: number;
  p99: number;
  /** Of the last answer. */
  body: string;
}

/** A request as HTTP clients send it. */
export function requestText(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): string {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    host: '127.0.0.1',
    connection: 'keep-alive',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'user-agent': 'precedent-bench',
    ...headers,
    'content-length': Buffer.byteLength(text),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

interface Answer {
  status: string;
  body: string;
}

/** The answer that these bytes are, once they are all there. Only one is ever under way. */
function wholeAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const whole =
    length === undefined
      ? bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
      : bytes.length >= end + HEAD_END.length + Number(length);
  if (!whole) return undefined;
  return { status: head.slice(9, 12), body: bytes.toString('utf8', end + HEAD_END.length) };
}

/** Far cheaper than `node:http`, so that the machine's time goes to the server. One request at a time. */
class Connection {
  private bytes: Buffer | undefined;
  private waiting: PromiseWithResolvers<Answer> | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.receive(chunk);
    });
    socket.on('close', () => this.waiting?.reject(new Error('the server closed a connection')));
    socket.on('error', (error) => this.waiting?.reject(error));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        resolve(new Connection(socket));
      });
      socket.once('error', reject);
    });
  }

  send(request: Buffer): Promise<Answer> {
    this.waiting = Promise.withResolvers<Answer>();
    this.socket.write(request);
    return this.waiting.promise;
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    const bytes = this.bytes ? Buffer.concat([this.bytes, chunk]) : chunk;
    const answer = wholeAnswer(bytes);
    this.bytes = answer ? undefined : bytes;
    if (answer) this.waiting?.resolve(answer);
  }
}

/** Throws at the first answer that is not as expected. */
export async function load(input: Load): Promise<Loaded> {
  const requests = input.requests.map((text) => Buffer.from(text)).values();
  const connections = await Promise.all(
    Array.from({ length: input.connections }, () => Connection.open(input.port)),
  );
  const took: number[] = [];
  const status = String(input.status ?? 200);
  let body = '';
  const worker = async (connection: Connection): Promise<void> => {
    for (const request of requests) {
      const started = performance.now();
      const answer = await connection.send(request);
      took.push(performance.now() - started);
      ({ body } = answer);
      if (answer.status !== status || !body.includes(input.expect))
        throw new Error(`answer ${answer.status}: ${body.slice(0, 500)}`);
    }
  };
  const started = performance.now();
  await Promise.all(connections.map(worker));
  const total = performance.now() - started;
  for (const connection of connections) connection.close();
  took.sort((a, b) => a - b);
  const at = (q: number): number => took[Math.floor(took.length * q)] ?? NaN;
  return { perSecond: (took.length / total) * 1_000, p50: at(0.5), p99: at(0.99), body };
}
