import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';
import { startServer, type RunningServer } from '../support/server.js';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
});

const run = (...args: string[]): Promise<Ran> =>
  precedent(args, { PRECEDENT_DATA: server.dir, NO_COLOR: '1' });

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${server.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as T;
}

async function record(topic: string, value: string): Promise<void> {
  await post('ingestions', {
    source: { title: `${topic} ${value}`, type: 'note', text: `It is ${value}.` },
    records: [
      {
        topic,
        statement: value,
        value,
        status: 'approved',
        effective_from: '2026-01-01',
        evidence: [{ quote: value }],
      },
    ],
  });
  const start = performance.now();
  while (performance.now() - start < 10_000) {
    const answer = await post<{ history: unknown[]; sources: { title: string }[] }>('answers', {
      question: topic,
    });
    if (answer.sources.some((s) => s.title === `${topic} ${value}`)) return;
  }
  throw new Error('the record was not worked through');
}

interface Found {
  schema: string;
  conflicts: { conflict_id: string; status: string; claims: { decision_id: string }[] }[];
}

describe('precedent conflicts, resolve-conflict, rate', () => {
  it('O-24, O-33: a conflict is shown with what would settle it, and settled', async () => {
    for (const value of ['net 30', 'net 60']) await record('terms', value);
    const shown = await run('conflicts', '--topic', 'terms');
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('1 conflict');
    expect(shown.stdout).toContain('an approval by an admin or owner that names which of');
    expect(shown.stdout).toContain('terms net 60');
    const found = JSON.parse((await run('conflicts', '--json')).stdout) as Found;
    expect(found.schema).toBe('precedent.conflicts/1');
    const [conflict] = found.conflicts;
    const winner = conflict?.claims[1]?.decision_id ?? '';
    const id = conflict?.conflict_id ?? '';
    const nameless = await run('resolve-conflict', id, 'resolve', '--reason', 'agreed');
    expect([nameless.code, nameless.stderr]).toEqual([
      1,
      expect.stringContaining('winner_missing'),
    ]);
    const done = await run(
      'resolve-conflict',
      id,
      'resolve',
      '--winner',
      winner,
      '--reason',
      'agreed',
    );
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining(`${id} is resolved`)]);
    const again = await run('resolve-conflict', id, 'dismiss', '--reason', 'agreed');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already_decided')]);
    const closed = await run('conflicts', '--status', 'resolved');
    expect(closed.stdout).toContain('net 60 prevails');
    expect((await run('conflicts')).stdout).toBe(
      'No open conflict is recorded in this workspace.\n',
    );
    expect((await run('conflicts', '--topic', 'nowhere')).stdout).toMatch(
      /^No topic bears this name/,
    );
  }, 180_000);

  it('O-37: an answer is rated by the call that ask shows while capture is on', async () => {
    await record('colour', 'blue');
    expect((await run('ask', 'colour')).stdout).not.toContain('call_');
    await post('workspace/settings', { answer_capture: true });
    const call = /call_[0-9a-f]{32}/.exec((await run('ask', 'colour')).stdout)?.[0] ?? '';
    const rated = await run('rate', call, 'partly', '--comment', 'which blue?');
    expect([rated.code, rated.stdout]).toEqual([0, expect.stringContaining('is rated partly')]);
    expect((await run('rate', call, 'splendid')).code).toBe(2);
    const unknown = await run('rate', `call_${'0'.repeat(32)}`, 'correct');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('unknown_call')]);
  }, 180_000);
});
