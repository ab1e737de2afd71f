import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MCP_LIMITS } from '#mcp/limits.js';
import { TestApplication } from '../support/application.js';

/** Ids repeat it: as long as a topic's may be. */
const TOPIC = `contest ${'of many options '.repeat(7)}`.trim();
/** As many as one ingestion may bring: each contradicts all that came before it. */
const RIVALS = 200;
/** With the one of a team. */
const CONFLICTS = RIVALS;

interface Answer {
  state: string;
  alternatives: { id: string }[];
  conflicts: {
    id: string;
    claims: string[];
    claims_total?: number;
    would_be_resolved_by: string[];
  }[];
  conflicts_total?: number;
}

let server: TestApplication;
/** In the order of their approval. */
let rivals: string[];
let ofTeam: string[];
beforeAll(async () => {
  server = await TestApplication.start();
  ofTeam = await contest(2, { scope: { team: 'x' } });
  rivals = await contest(RIVALS, {});
}, 120_000);
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

async function contest(n: number, more: object): Promise<string[]> {
  const quote = (i: number): string => `We choose option number ${i} for the contest.`;
  const numbers = Array.from({ length: n }, (_, i) => i);
  const job = await server.ingest({
    source: { title: 'contest', type: 'note', text: numbers.map(quote).join('\n') },
    records: numbers.map((i) => ({
      topic: TOPIC,
      statement: `Option ${i}`,
      value: i,
      status: 'approved',
      evidence: [{ quote: quote(i) }],
      ...more,
    })),
  });
  return (job['records'] as { decision_id: string }[]).map((r) => r.decision_id);
}

async function overMcp(args: object): Promise<{ isError: boolean; bytes: number; answer: Answer }> {
  const response = await server.application.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    payload: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'resolve_decision_state', arguments: { question: TOPIC, ...args } },
    },
  });
  const { result } = JSON.parse(response.body) as {
    result: { isError?: boolean; structuredContent: Answer };
  };
  const answer = result.structuredContent;
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  return { isError: result.isError === true, bytes, answer };
}

const opened = (conflict: { id: string }): number =>
  rivals.findIndex((id) => conflict.id.startsWith(`${id}.`));

describe(`a topic of ${RIVALS} decisions that contradict one another`, () => {
  it('O-15, O-19: is contested over MCP too; the latest fifty conflicts are shown, and how many there are', async () => {
    const { isError, bytes, answer } = await overMcp({});
    process.stdout.write(`an answer of ${CONFLICTS} conflicts: ${bytes} bytes\n`);
    expect([isError, answer.state]).toEqual([false, 'contested']);
    expect(bytes).toBeLessThanOrEqual(MCP_LIMITS.resultBytes);
    expect(answer.alternatives).toHaveLength(20);
    expect(answer.conflicts_total).toBe(CONFLICTS);
    expect(answer.conflicts.map(opened)).toEqual(
      Array.from({ length: 50 }, (_, i) => RIVALS - 50 + i),
    );
  });

  it('O-19: a conflict of the decisions that are shown is not left out for later ones', async () => {
    const { answer } = await overMcp({ scope: { team: 'x' } });
    expect(answer.alternatives.map((a) => a.id)).toEqual(ofTeam);
    expect(answer.conflicts).toHaveLength(50);
    expect(answer.conflicts_total).toBe(CONFLICTS);
    expect(answer.conflicts[0]?.claims).toEqual(ofTeam);
    expect(answer.conflicts[1] && opened(answer.conflicts[1])).toBe(RIVALS - 49);
  });

  it('QO-14: five claims of a conflict are shown, that which opened it among them, and how many it has', async () => {
    const { answer } = await overMcp({});
    const last = answer.conflicts.at(-1);
    expect(last?.claims).toEqual([...rivals.slice(0, 4), rivals.at(-1)]);
    expect(last?.claims_total).toBe(RIVALS);
    expect(last?.would_be_resolved_by).toHaveLength(6);
    expect(last?.would_be_resolved_by.at(-1)).toContain(
      `${String(rivals.at(-1))} and ${RIVALS - 5} more supersedes the others`,
    );
  });

  it('shows all, and no total, of what is not too much', async () => {
    // Each decision and each conflict is an event or more: the moment is looked for.
    const positions = Array.from({ length: await server.end() }, (_, i) => i + 1);
    let found: Answer | undefined;
    for (const at of positions.filter((p) => p % 5 === 0)) {
      const { answer } = await overMcp({ known_at: String(at) });
      if (answer.alternatives.length > 2 && answer.conflicts.length < 50) found = answer;
      if (answer.conflicts.length >= 50) break;
    }
    expect(found?.conflicts.length).toBeGreaterThan(10);
    expect(found).not.toHaveProperty('conflicts_total');
    const [first] = found?.conflicts ?? [];
    expect(first?.claims).toEqual(ofTeam);
    expect(first).not.toHaveProperty('claims_total');
  });
});
