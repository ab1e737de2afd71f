import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { parseVkey } from '#transparency/note.js';
import { precedent } from '../support/cli.js';
import { startServer, type RunningServer } from '../support/server.js';

/** The key of the log by the command line, against the built server. */
// Every call is a process.
jest.setTimeout(180_000);
let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(server.dir, { recursive: true, force: true });
});

interface Printed {
  schema: string;
  origin: string;
  public_key: string;
  keys: { vkey: string; how: string; position: string }[];
}

const run = (...args: string[]) =>
  precedent(['keys', ...args], { PRECEDENT_URL: server.url, PRECEDENT_KEY: server.key });

async function json(...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Printed;
}

describe('precedent keys log, rotate-log', () => {
  it('P9: prints what verifies the checkpoints of the log, and lets a new key sign', async () => {
    const checkpoint = async (): Promise<string> =>
      (
        await fetch(`${server.url}/v1/log/checkpoint`, {
          headers: { authorization: `Bearer ${server.key}` },
        })
      ).text();
    const before = await json('log');
    expect(before.schema).toBe('precedent.log-keys/1');
    const [opened] = before.keys;
    const known = parseVkey(opened?.vkey ?? '');
    expect(openCheckpoint(await checkpoint(), [known]).origin).toBe(before.origin);
    const text = await run('log');
    expect(text.stdout.split('\n')).toEqual([
      `log ${before.origin}`,
      `${known.vkey}  opened at ${opened?.position ?? ''}`,
      ...before.public_key.split('\n'),
    ]);
    const folder = await json('log', '--data', server.dir);
    expect(folder.keys).toContainEqual({
      origin: before.origin,
      vkey: known.vkey,
      public_key: before.public_key,
    });
    const lost = await run('rotate-log', '--lost', '--reason', 'x');
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('key_not_lost')]);
    const rotated = await json('rotate-log');
    expect(rotated.keys.map(({ how }) => how)).toEqual(['opened', 'rotated']);
    expect((await json('log')).keys).toEqual(rotated.keys);
    expect(rotated.public_key).not.toBe(before.public_key);
  });
});
