import { describeEventStore } from './conformance.js';
import { MemoryStore } from './memory.js';

describeEventStore('memory', () => {
  const clock = { now: Date.UTC(2026, 0, 31, 9) };
  const ledger = {
    clock,
    store: new MemoryStore(() => clock.now),
    async reopen() {
      const { log } = ledger.store;
      await ledger.store.close();
      ledger.store = new MemoryStore(() => clock.now, log);
    },
    dispose: () => ledger.store.close(),
  };
  return Promise.resolve(ledger);
});
