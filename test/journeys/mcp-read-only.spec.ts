import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store/event-store.js';
import { TestApplication } from '../support/application.js';
import { post } from '../support/mcp-raw.js';
import { toolFiles } from '../support/tools.js';

/** Valid arguments for every tool that is marked read-only: two calls each, where there is more than one way to ask. */
const SAMPLES: Readonly<Record<string, (job: string, dataset: string) => object[]>> = {
  get_workspace_context: () => [{}],
  resolve_decision_state: () => [
    { question: 'payment terms' },
    { question: 'terms of payment', request_id: 'read-only-1', as_of: '2025-01-01' },
    { question: 'payment terms', receipt: true },
  ],
  get_decision_history: () => [{ topic: 'payment terms' }, { topic: 'no such topic' }],
  find_conflicts: () => [{}],
  get_ingestion_status: (job) => [{ job_id: job }, { job_id: job, limit: 1 }],
  list_pending_decisions: () => [{}, { kind: 'candidate' }],
  get_ontology: () => [{}],
  get_intelligence: (_job, dataset) => [{}, { dataset_id: dataset }],
  export_eval_dataset: (_job, dataset) => [{ dataset_id: dataset }],
};

const MINUTES = {
  source: {
    title: 'Minutes',
    type: 'meeting_notes',
    text: 'Payment terms are net 30. Perhaps net 60 later.',
  },
  records: [
    {
      topic: 'payment terms',
      statement: 'Net 30',
      effective_from: '2024-01-01',
      status: 'approved',
      evidence: [{ quote: 'Payment terms are net 30' }],
    },
    { topic: 'later terms', statement: 'Net 60', status: 'candidate' },
  ],
};

const read = (await toolFiles()).map(({ tool }) => tool).filter(({ hints }) => hints.readOnly);

let server: TestApplication;
let url: string;
let job: string;
let dataset: string;
const keys: Record<string, string> = {};
beforeAll(async () => {
  server = await TestApplication.start();
  await server.application.app.listen(0, '127.0.0.1');
  url = `${await server.application.app.getUrl()}/mcp`;
  job = (await server.ingest(MINUTES))['job_id'] as string;
  dataset = await approvedDataset();
  keys['person'] = server.key;
  keys['agent'] = await server.member('bot', 'member', 'agent');
  keys['service'] = await server.member('erp', 'member', 'service');
});
afterAll(async () => {
  await server.close();
});

async function approvedDataset(): Promise<string> {
  const cases = [{ question: 'payment terms', expect: { state: 'verified' } }];
  const path = '/v1/evaluation/datasets';
  const { body } = await server.call('POST', path, { name: 'Terms', cases });
  const id = String(body['dataset_id']);
  const approval = { dataset_hash: body['dataset_hash'], action: 'approve', reason: 'read' };
  expect((await server.call('POST', `${path}/${id}/reviews`, approval)).status).toBe(200);
  return id;
}

async function appendedSince(position: number): Promise<RecordedEvent[]> {
  const signal = new AbortController().signal;
  const events: RecordedEvent[] = [];
  for await (const batch of server.application.ledger.store.follow(position, {
    signal,
    live: false,
  }))
    events.push(...batch);
  return events;
}

describe('a tool that is marked read-only', () => {
  it('has samples here', () => {
    expect(read.map(({ name }) => name).filter((name) => !(name in SAMPLES))).toEqual([]);
  });

  it.each(read)(
    'O-02, QO-6: $name changes no decision, ontology, rule or setting',
    async (tool) => {
      for (const kind of tool.audience)
        for (const args of SAMPLES[tool.name]?.(job, dataset) ?? []) {
          const before = await server.end();
          const call = { name: tool.name, arguments: args };
          const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
          const { body } = await post(url, message, { key: keys[kind] ?? '' });
          expect([args, body.result?.['isError'] ?? false, body.error]).toEqual([
            args,
            false,
            undefined,
          ]);
          // An answer kept for its request_id, its receipt or its rating is a record of reading; a checkpoint signs what is recorded.
          const streams = (await appendedSince(before)).map(({ stream }) => stream);
          expect(streams.filter((stream) => !/^(?:answer|checkpoint)-/.test(stream))).toEqual([]);
        }
    },
  );

  it('is told from one that writes by this test', async () => {
    const before = await server.end();
    await server.ingest({ ...MINUTES, request_id: 'again' });
    const streams = (await appendedSince(before)).map(({ stream }) => stream.split('-')[0]);
    expect(streams).toContain('ingestion');
  });
});
