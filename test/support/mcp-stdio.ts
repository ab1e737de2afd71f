import { Refusal } from '#kernel/refusal.js';
import { askingTools } from './mcp-asking.js';
import { fixtureCallers, fixtureEdge } from './mcp-fixture.js';
import { readToolsets } from '#mcp/toolsets.js';

/** The fixture's edge on this process's streams: the key comes from FIXTURE_KEY, the toolsets from FIXTURE_TOOLSETS; FIXTURE_ASKS serves the tools that ask. */
const { FIXTURE_KEY: key = '', FIXTURE_TOOLSETS: toolsets, FIXTURE_ASKS: asks } = process.env;
const edge = fixtureEdge([], asks === undefined ? {} : { tools: askingTools().tools });
const connection = edge.serveStdio(
  async () => {
    const caller = fixtureCallers[key];
    if (!caller) throw new Refusal('unauthenticated', 'unauthenticated', 'the key does not hold');
    return caller;
  },
  process.stdin,
  process.stdout,
  toolsets === undefined ? undefined : readToolsets(toolsets),
);
await connection.closed;
