import { request, type Agent } from 'node:http';

/** An answer as it came: header names in their own case and order, without the date. */
export interface WireAnswer {
  status: number;
  headers: string[];
  body: string;
}

export interface WireRequest {
  path: string;
  /** As they go out, repeated names and odd cases included. */
  headers: (readonly [name: string, value: string])[];
  body: Uint8Array;
}

/** Sends exactly these headers and bytes. `host` and `content-length` are put in front where the headers do not name them. */
export async function sendRaw(agent: Agent, port: number, sent: WireRequest): Promise<WireAnswer> {
  const given = new Set(sent.headers.map(([name]) => name.toLowerCase()));
  const headers = [
    ...(given.has('host') ? [] : ['host', `127.0.0.1:${port}`]),
    ...(given.has('content-length') ? [] : ['content-length', String(sent.body.length)]),
    ...sent.headers.flat(),
  ];
  return new Promise((resolve, reject) => {
    const req = request(
      { agent, port, host: '127.0.0.1', method: 'POST', path: sent.path, headers },
      (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part));
        res.on('error', reject);
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            headers: undated(res.rawHeaders),
            body: Buffer.concat(parts).toString('latin1'),
          }),
        );
      },
    );
    req.on('error', reject);
    req.end(sent.body);
  });
}

function undated(raw: readonly string[]): string[] {
  const lines = raw.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${raw[i + 1] ?? ''}`] : []));
  return lines.filter((line) => !line.startsWith('Date: '));
}
