import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyReceipt, type Receipt } from '#transparency/receipt.js';
import { TestApplication } from '../support/application.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { verifiersOf } from '../support/receipts.js';

const folder = mkdtempSync(join(tmpdir(), 'precedent-receipts-cluster-'));
let cluster: TestEventStoreDb;
const servers: TestApplication[] = [];

async function server(name: string, settings: Record<string, string>): Promise<TestApplication> {
  const started = await TestApplication.start({
    PRECEDENT_DATA: join(folder, name),
    PRECEDENT_EVENTSTORE: cluster.connectionString,
    ...settings,
  });
  servers.push(started);
  return started;
}

beforeAll(async () => {
  cluster = await TestEventStoreDb.start();
});
afterAll(async () => {
  for (const started of servers) await started.close();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('receipts of servers that share a ledger', () => {
  const ask = (on: TestApplication) =>
    on.call<{ receipt: Receipt; error: string }>('POST', '/v1/answers', {
      question: 'terms',
      request_id: 'cluster-1',
      receipt: true,
    });

  it('QO-26: a server without the key of the log refuses, and keeps no answer', async () => {
    const keyless = await server('keyless', {});
    const end = await keyless.end();
    const { status, body } = await ask(keyless);
    expect([status, body.error]).toEqual([503, 'no_log_key']);
    expect(await keyless.end()).toBe(end);
  });

  it('O-13: with the same key each gives the same answer, statement and signature', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const key = join(folder, 'log-key.pem');
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const a = await server('a', { PRECEDENT_LOG_KEY: key });
    const b = await server('b', { PRECEDENT_LOG_KEY: key });
    const [first, second] = [await ask(a), await ask(b)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const bare = ({ receipt, ...answer }: { receipt: Receipt }) => ({
      ...answer,
      receipt: { ...receipt, tlog_proof: '' },
    });
    expect(bare(second.body)).toEqual(bare(first.body));
    for (const { body } of [first, second])
      expect(verifyReceipt(body.receipt, await verifiersOf(a)).statement.predicate.kind).toBe(
        'answer',
      );
  });
});
