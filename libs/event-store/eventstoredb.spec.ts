import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { TestEventStoreDb } from '../../test/support/eventstoredb-server.js';
import type { LedgerUnderTest } from './conformance-support.js';
import { describeEventStore } from './conformance.js';
import { openEventStoreDb } from './eventstoredb.js';

/** A ledger of its own in a cluster that may hold many. */
async function newLedger(connectionString: string): Promise<LedgerUnderTest> {
  const clock = { now: Date.UTC(2026, 0, 31, 9) };
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const open = () => openEventStoreDb(connectionString, { clock: () => clock.now, ledger: name });
  const ledger = {
    clock,
    store: await open(),
    async reopen() {
      await ledger.store.close();
      ledger.store = await open();
    },
    dispose: () => ledger.store.close(),
  };
  return ledger;
}

const cluster = process.env['PRECEDENT_TEST_EVENTSTOREDB'];
const events = 4_000;

describe('test server', () => {
  let server: TestEventStoreDb;
  beforeAll(async () => {
    server = await TestEventStoreDb.start();
  });
  afterAll(() => server.stop());
  describeEventStore('eventstoredb', () => newLedger(server.connectionString), { events });
});

if (cluster) describeEventStore('eventstoredb cluster', () => newLedger(cluster), { events });
else {
  process.stderr.write(
    'SKIPPED the suite on a real EventStoreDB: PRECEDENT_TEST_EVENTSTOREDB names none\n',
  );
  it.skip('a real cluster: set PRECEDENT_TEST_EVENTSTOREDB to its connection string', () =>
    undefined);
}
