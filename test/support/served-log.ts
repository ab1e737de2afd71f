import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { parseVkey, type Verifier } from '#transparency/note.js';
import { TestApplication } from './application.js';

export interface LogKeys {
  origin: string;
  keys: { vkey: string; how: string; position: string; note?: string; reason?: string }[];
  public_key: string;
  finished?: boolean;
}
interface Page {
  events: { position: string; type: string }[];
  next: string;
  at_end: boolean;
}

/** A server on a ledger of its own that hands out its signed log, over a socket as well. It can be started anew. */
export class ServedLog {
  readonly dir = mkdtempSync(join(tmpdir(), 'precedent-log-'));
  server!: TestApplication;
  url = '';
  private made = 0;

  async start(more: Record<string, string> = {}): Promise<void> {
    this.server = await TestApplication.start({
      PRECEDENT_EVENTSTORE: 'sqlite:',
      PRECEDENT_DATA: this.dir,
      PRECEDENT_PORT: '0',
      ...more,
    });
    await this.server.application.app.listen(0, '127.0.0.1');
    this.url = this.server.application.base();
  }

  close(): Promise<void> {
    return this.server.close();
  }

  async remove(): Promise<void> {
    await this.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A reader of the served log, over a socket; undefined where the server answers 404. */
  reader(key = this.server.key) {
    return async (path: string): Promise<Uint8Array | undefined> => {
      const reply = await fetch(`${this.url}/v1/log/${path}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      if (reply.status === 404) return undefined;
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
      return new Uint8Array(await reply.arrayBuffer());
    };
  }

  async get<T>(path: string, key = this.server.key): Promise<T> {
    const { status, body } = await this.server.call<T>('GET', path, undefined, key);
    expect([path, status]).toEqual([path, 200]);
    return body;
  }

  keys(): Promise<LogKeys> {
    return this.get<LogKeys>('/v1/log/keys');
  }

  async verifiers(): Promise<Verifier[]> {
    return (await this.keys()).keys.map(({ vkey }) => parseVkey(vkey));
  }

  /** Some five events for each record. */
  async record(count: number): Promise<void> {
    const names = Array.from({ length: count }, () => `matter ${++this.made}`);
    await this.server.ingest({
      source: {
        title: `minutes ${this.made}`,
        type: 'note',
        text: names.map((n) => `${n} is settled`).join('\n'),
      },
      records: names.map((topic) => ({
        topic,
        statement: `${topic} is settled`,
        value: true,
        status: 'approved',
        evidence: [{ quote: `${topic} is settled` }],
      })),
    });
  }

  async events(): Promise<Page['events']> {
    const all: Page['events'] = [];
    for (let after = '0'; ;) {
      const page = await this.get<Page>(`/v1/events?after=${after}`);
      all.push(...page.events);
      if (page.at_end) return all;
      after = page.next;
    }
  }

  /** Signs over everything there is: the proof of the last event needs it. */
  async signed(): Promise<void> {
    const last = (await this.events()).at(-1);
    await this.get(`/v1/log/proofs/inclusion?position=${last?.position ?? ''}`);
  }
}
