import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { openKeysForReading } from '#event-store/sqlite-keys.js';
import type { Key } from '#event-store/key-vault.js';
import { precedent, type Ran } from './cli.js';
import { startServer, type RunningServer } from './server.js';

export type Body = Record<string, unknown>;

/** The built server on a folder of its own, ended and started again as a test wants, and the command line on both. */
export class Restarting {
  /** Removed in the end, with the ledger in it. */
  readonly scratch = mkdtempSync(join(tmpdir(), 'precedent-restarting-'));
  readonly data = join(this.scratch, 'data');
  #server: RunningServer | undefined;

  get server(): RunningServer {
    if (!this.#server) throw new Error('not started');
    return this.#server;
  }

  /** Resolves once it is ready. */
  async start(): Promise<void> {
    this.#server = await startServer({ dir: this.data, env: { PRECEDENT_LOG_LEVEL: 'debug' } });
    for (let tries = 0; tries < 2_000; tries += 1) {
      if ((await fetch(`${this.server.url}/health/ready`)).status === 200) return;
      await delay(10);
    }
    throw new Error('the server does not become ready');
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.server.stop(signal);
  }

  async remove(): Promise<void> {
    await this.#server?.stop('SIGKILL');
    rmSync(this.scratch, { recursive: true, force: true });
  }

  readonly call = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    key = this.server.key,
  ): Promise<{ status: number; body: Body }> => {
    const reply = await fetch(`${this.server.url}/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: reply.status, body: (await reply.json()) as Body };
  };

  readonly done = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    key?: string,
  ): Promise<Body> => {
    const reply = await this.call(method, path, body, key);
    expect([path, reply.status < 300, reply.body['error']]).toEqual([path, true, undefined]);
    return reply.body;
  };

  readonly ingest = async (input: object): Promise<Body> => {
    const { job_id } = await this.done('POST', 'ingestions', input);
    for (;;) {
      const job = await this.done('GET', `ingestions/${String(job_id)}`);
      if (job['status'] !== 'running') return job;
      await delay(20);
    }
  };

  readonly run = (...args: string[]): Promise<Ran> =>
    precedent(args, {
      PRECEDENT_DATA: this.data,
      PRECEDENT_URL: this.server.url,
      PRECEDENT_KEY: this.server.key,
    });

  readonly ok = async (...args: string[]): Promise<Body> => {
    const ran = await this.run(...args, '--json');
    expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, '']);
    return JSON.parse(ran.stdout) as Body;
  };

  /** What reads say of a topic, in the words that are stored of it. */
  readonly told = async (topic: string): Promise<string> => {
    const bodies = await Promise.all([
      this.done('POST', 'answers', { question: 'q', topic }),
      this.done('GET', `topics/${topic}/history`),
      this.done('GET', 'pending?limit=200'),
      this.done('GET', 'conflicts'),
    ]);
    return JSON.stringify(bodies);
  };

  /** The keys that are in the folder, as they stand in it. */
  async keys(...ids: string[]): Promise<Key[]> {
    const vault = openKeysForReading(this.data);
    const keys = ids.map((id) => vault?.key(id));
    await vault?.close();
    return keys.map((key) => (key instanceof Uint8Array ? Uint8Array.from(key) : key));
  }
}
