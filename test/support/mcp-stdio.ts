import { Refusal } from '#kernel/refusal.js';
import { fixtureCallers, fixtureEdge } from './mcp-fixture.js';

/** The fixture's edge on this process's streams; the key comes from FIXTURE_KEY. */
const connection = fixtureEdge().serveStdio(
  async () => {
    const caller = fixtureCallers[process.env['FIXTURE_KEY'] ?? ''];
    if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'the key does not hold');
    return caller;
  },
  process.stdin,
  process.stdout,
);
await connection.closed;
