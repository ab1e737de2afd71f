import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MCP_LIMITS } from '#mcp/limits.js';
import { TestApplication } from '../support/application.js';

const DOCUMENTS = 2_000;

interface Page {
  records: { index: number; path: string }[];
  findings: unknown[];
  counts: Record<string, number>;
  next_cursor?: string;
}

let server: TestApplication;
let job: Record<string, unknown>;
beforeAll(async () => {
  server = await TestApplication.start();
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({
    path: `records/${'a-long-folder-name/'.repeat(6)}${String(i).padStart(4, '0')}-note.md`,
    // One in 20 says that a record replaced it that is not there: a finding each.
    text:
      i % 20 === 0
        ? `# ${i}. Use tool ${i}\n\n## Status\n\nSuperseded by [another](9${i}-gone.md)\n\n## Decision\n\nWe use tool ${i}.\n`
        : `Note ${i}. No decision is in here.\n`,
  }));
  job = await server.ingest({ documents, collection: 'notes' });
}, 300_000);
afterAll(async () => {
  await server.close();
});

async function status(args: object): Promise<{ bytes: number; page: Page }> {
  const response = await server.application.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    payload: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_ingestion_status', arguments: { job_id: job['job_id'], ...args } },
    },
  });
  const { result } = JSON.parse(response.body) as { result: { structuredContent: Page } };
  const page = result.structuredContent;
  return { bytes: Buffer.byteLength(JSON.stringify(page)), page };
}

describe('the status of an ingestion of 2,000 documents', () => {
  it.each([{}, { limit: 200 }, { limit: 77 }])('comes in pages that fit: %j', async (args) => {
    const whole = job as unknown as Page;
    expect(Buffer.byteLength(JSON.stringify(whole))).toBeGreaterThan(MCP_LIMITS.resultBytes);
    const records: Page['records'] = [];
    const findings: unknown[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ;) {
      const { bytes, page } = await status(cursor === undefined ? args : { ...args, cursor });
      expect(bytes).toBeLessThanOrEqual(MCP_LIMITS.resultBytes);
      expect(page.counts).toEqual(whole.counts);
      pages += 1;
      records.push(...page.records);
      findings.push(...page.findings);
      cursor = page.next_cursor;
      if (cursor === undefined) break;
    }
    process.stdout.write(
      `ingestion status: ${records.length} records, ${findings.length} findings in ${pages} pages\n`,
    );
    expect(records).toEqual(whole.records);
    expect(findings).toEqual(whole.findings);
    expect(findings.length).toBeGreaterThanOrEqual(DOCUMENTS / 20);
    expect(records).toHaveLength(DOCUMENTS);
  });

  it.each(['x', 'f', 'r1', 'f-1'])('refuses a cursor that is none of its: %s', async (cursor) => {
    const url = `/v1/ingestions/${String(job['job_id'])}?cursor=${cursor}`;
    const { status: code, body } = await server.call('GET', url);
    expect([code, body['path']]).toEqual([400, 'cursor']);
  });
});
