import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openSqliteReader } from '#event-store/sqlite.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import type { RunningServer } from './server.js';

export interface Reply {
  status: number;
  type: string | null;
  body: Record<string, unknown>;
}

const PATIENCE_MS = 40_000;

export async function send(door: RunningServer, path: string, body?: object): Promise<Reply> {
  const response = await fetch(`${door.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${door.key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: (await response.json()) as Record<string, unknown>,
  };
}

/**
 * One decided record in a topic of its own; the same number is the same request. All are of one subject, so that its key is on the disk
 * after the first and the next write is that of the ledger.
 */
export function ingest(door: RunningServer, n: number): Promise<Reply> {
  const statement = `Number ${n} is settled.`;
  return send(door, '/v1/ingestions', {
    request_id: `fault-${n}`,
    source: {
      title: `Note ${n}`,
      type: 'note',
      text: `They wrote: ${statement} No more.`,
      subject: 'they',
    },
    records: [
      { topic: `topic ${n}`, statement, status: 'approved', evidence: [{ quote: statement }] },
    ],
  });
}

export function history(door: RunningServer, n: number): Promise<Reply> {
  return send(door, `/v1/topics/topic%20${n}/history?limit=10`);
}

/** Waits for `reply` to satisfy `done`; throws the last one when it never does. */
export async function until(
  ask: () => Promise<Reply>,
  done: (reply: Reply) => boolean,
): Promise<Reply> {
  let reply = await ask();
  for (const from = performance.now(); !done(reply); reply = await ask()) {
    if (performance.now() - from > PATIENCE_MS)
      throw new Error(`still ${reply.status} ${JSON.stringify(reply.body)}`);
    await delay(20);
  }
  return reply;
}

/** An acknowledged ingestion comes to its end. */
export function completed(door: RunningServer, accepted: Reply): Promise<Reply> {
  const job = String(accepted.body['job_id']);
  return until(
    () => send(door, `/v1/ingestions/${job}`),
    ({ body }) => body['status'] === 'completed',
  );
}

export async function wholeLog(dir: string): Promise<RecordedEvent[]> {
  const reader = openSqliteReader(dir);
  const log: RecordedEvent[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of reader.follow(0, options)) log.push(...batch);
  await reader.close();
  return log;
}

/** From now on these system calls of the server fail with that error; ends with the process that it returns. */
export async function breakDisk(
  { process: { pid = 0 } }: RunningServer,
  calls: string,
  error: string,
): Promise<ChildProcess> {
  const inject = `inject=${calls}:error=${error}`;
  const args = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', inject];
  const tracer = spawn('strace', [...args, '-p', String(pid)], { stdio: 'ignore' });
  const untraced = (): boolean =>
    /TracerPid:\s+0\n/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  for (let tries = 0; untraced(); tries++) {
    if (tries > 1_000) throw new Error('strace does not attach');
    await delay(20);
  }
  // The other threads follow the first.
  await delay(500);
  return tracer;
}
