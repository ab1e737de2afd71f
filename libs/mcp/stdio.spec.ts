import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { BODY_LIMIT } from '#http/fastify.js';
import { Refusal } from '#kernel/refusal.js';
import { fixtureCallers, fixtureEdge, type Defect } from '../../test/support/mcp-fixture.js';

function connected() {
  const stdin = new PassThrough();
  const stdout = new PassThrough({ encoding: 'utf8' });
  const defects: Defect[] = [];
  const key = { holds: true, broken: false };
  const connection = fixtureEdge(defects).serveStdio(
    async () => {
      if (key.broken) throw new Error('the store is gone');
      const caller = fixtureCallers['key-member'];
      if (!key.holds || !caller)
        throw new Refusal('unauthenticated', 'unauthenticated', 'the key does not hold');
      return caller;
    },
    stdin,
    stdout,
  );
  let rest = '';
  const next = async (): Promise<unknown> => {
    while (!rest.includes('\n')) rest += String((await once(stdout, 'data'))[0]);
    const [line = '', ...more] = rest.split('\n');
    rest = more.join('\n');
    return JSON.parse(line);
  };
  const ask = async (line: string): Promise<unknown> => {
    stdin.write(`${line}\n`);
    return next();
  };
  return { stdin, connection, defects, key, ask, next };
}

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const CALL =
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo_text","arguments":{"text":"é"}}}';

describe('a stdio connection', () => {
  it('checks the credential at every message', async () => {
    const { ask, key, connection, defects } = connected();
    expect(await ask(LIST)).toHaveProperty('result.tools');
    key.holds = false;
    expect(await ask(LIST)).toMatchObject({
      id: 1,
      error: { code: -32000, data: { error: 'unauthenticated' } },
    });
    key.broken = true;
    expect(await ask(LIST)).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(defects).toHaveLength(1);
    key.broken = false;
    key.holds = true;
    expect(await ask(LIST)).toHaveProperty('result.tools');
    await connection.close();
    await connection.closed;
  });

  it('reads lines from whatever pieces they come in', async () => {
    const { stdin, next, connection } = connected();
    const bytes = Buffer.from(`${LIST}\n\n  \n${CALL}\n`);
    for (const byte of bytes) stdin.write(Buffer.from([byte]));
    expect(await next()).toMatchObject({ id: 1 });
    expect(await next()).toMatchObject({ id: 2, result: { structuredContent: { text: 'é' } } });
    await connection.close();
  });

  it('refuses what it cannot read, and reads on', async () => {
    const { ask, connection } = connected();
    expect(await ask('{')).toMatchObject({ id: null, error: { code: -32700 } });
    expect(await ask('{"method":"x","id":5}')).toMatchObject({ id: 5, error: { code: -32600 } });
    expect(await ask(CALL.replace('"é"', '9007199254740993'))).toMatchObject({
      id: 2,
      error: { code: -32602, data: { path: 'text' } },
    });
    expect(await ask(LIST)).toHaveProperty('result.tools');
    await connection.close();
  });

  it('refuses a line over the limit that bodies have over HTTP with its number, once, and reads on', async () => {
    const { stdin, ask, next, connection } = connected();
    const padded = (bytes: number): string => LIST + ' '.repeat(bytes - LIST.length);
    expect(await ask(padded(BODY_LIMIT))).toHaveProperty('result.tools');
    const refused = {
      id: null,
      error: {
        code: -32600,
        message: expect.stringContaining(String(BODY_LIMIT)),
        data: { error: 'message_too_large', fix: expect.any(String) },
      },
    };
    expect(await ask(padded(BODY_LIMIT + 1))).toMatchObject(refused);
    expect(await ask(CALL)).toMatchObject({ id: 2 });
    // Before the line has ended, and nothing more for the rest of it.
    stdin.write(padded(BODY_LIMIT + 1));
    expect(await next()).toMatchObject(refused);
    stdin.write('x'.repeat(BODY_LIMIT + 1));
    expect(await ask(`${CALL}\n${CALL}`)).toMatchObject({ id: 2 });
    stdin.end();
    await connection.closed;
  });

  it('answers what is under way when the input ends, and then ends', async () => {
    const { stdin, next, connection } = connected();
    stdin.end(`${LIST}\n${CALL}\n`);
    expect(await next()).toHaveProperty('result');
    expect(await next()).toHaveProperty('result');
    await connection.closed;
  });
});
