import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandBus } from '@nestjs/cqrs';
import { AddMember, Authenticate, IssueCredential, RegisterPrincipal } from '#access/module.js';
import type { Caller, Clock, PrincipalKind, Role } from '#kernel/context.js';
import { QueryBus } from '@nestjs/cqrs';
import { assemble, type Application } from '../../apps/server/src/application.js';
import { createLog } from '../../apps/server/src/log.js';
import { readSettings } from '../../apps/server/src/settings.js';

export interface Reply<T = Record<string, unknown>> {
  status: number;
  headers: Record<string, unknown>;
  body: T;
}

/** The whole server in this process, its real doors reached without a socket. */
export class TestApplication {
  private constructor(
    readonly application: Application,
    readonly dir: string,
    readonly key: string,
  ) {}

  static async start(
    settings: Record<string, string> = {},
    clock?: Clock,
  ): Promise<TestApplication> {
    const dir = settings['PRECEDENT_DATA'] ?? mkdtempSync(join(tmpdir(), 'precedent-test-'));
    const key = `prec_TESTTEST_${'k'.repeat(40)}`;
    const application = await assemble(
      readSettings({
        PRECEDENT_EVENTSTORE: 'memory:',
        PRECEDENT_RATE_LIMIT: '0',
        // Nothing is appended but by who asks for it.
        PRECEDENT_CHECKPOINT_SECONDS: '0',
        PRECEDENT_DATA: dir,
        PRECEDENT_BOOTSTRAP_KEY: key,
        ...settings,
      }),
      createLog('fatal'),
      clock,
    );
    return new TestApplication(application, dir, key);
  }

  close(): Promise<void> {
    return this.application.close();
  }

  /** One REST exchange. A string body is sent as it is. */
  async call<T = Record<string, unknown>>(
    method: 'GET' | 'POST',
    url: string,
    body?: unknown,
    key: string | undefined = this.key,
  ): Promise<Reply<T>> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await this.application.app.inject({
      method,
      url,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { payload: raw ? body : JSON.stringify(body) }),
    });
    const isJson = /json/.test(response.headers['content-type'] ?? 'json');
    return {
      status: response.statusCode,
      headers: response.headers,
      // Of what is no JSON the text; its bytes are for who asks fastify.
      body: (isJson
        ? JSON.parse(response.body === '' ? 'null' : response.body)
        : response.body) as T,
    };
  }

  /** A further member and a key for him. An agent is a member, whatever role is asked for. */
  async member(principal: string, role: Role, kind: PrincipalKind = 'person'): Promise<string> {
    const commands = this.application.app.get(CommandBus);
    const owner = await this.callerOf(this.key);
    await commands.execute(new RegisterPrincipal(owner, { kind, name: principal }, principal));
    const added = { principal, role: kind === 'agent' ? 'member' : role } as const;
    await commands.execute(new AddMember(owner, added));
    const { key } = await commands.execute(new IssueCredential(owner, { principal }));
    if (key === undefined) throw new Error('no key');
    return key;
  }

  async callerOf(key: string): Promise<Caller> {
    const caller = await this.application.app.get(QueryBus).execute(new Authenticate(key));
    if (!caller) throw new Error('no caller');
    return caller;
  }

  /** Position of the last event: what did not move did not append. */
  end(): Promise<number> {
    return this.application.ledger.store.end();
  }

  /** Hands in and waits until the job is done. */
  async ingest(input: unknown, key = this.key): Promise<Record<string, unknown>> {
    const receipt = await this.call<{ job_id: string }>('POST', '/v1/ingestions', input, key);
    if (receipt.status !== 202) throw new Error(JSON.stringify(receipt.body));
    for (let pause = 2; ; pause = Math.min(2 * pause, 64)) {
      const job = await this.call('GET', `/v1/ingestions/${receipt.body.job_id}`, undefined, key);
      if (job.status !== 200) throw new Error(JSON.stringify(job.body));
      if (job.body['status'] !== 'running') return job.body;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
