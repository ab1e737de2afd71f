import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { hasCorpora } from '../support/corpora.js';
import { rfcIndex, rfcSnapshot, type RfcLink } from '../support/standards.js';

/** Records of one ingestion, at most as many as it takes. */
const PAGE = 200;

interface Answer {
  state: string;
  decision?: { value: number[] };
}

const shown = ({ newer, older }: RfcLink): string => `${newer} obsoletes ${older}`;

/**
 * One topic for each RFC that was ever made obsolete; a decision for each month in which that list grew, replacing the one before.
 * RFCs without a month are the oldest ones: what they replaced holds from the beginning of the series.
 */
function recordsOf(older: number, links: readonly RfcLink[], published: Map<number, string>) {
  const newerOn = Map.groupBy(links, ({ newer }) => published.get(newer) ?? '1969-04-07');
  let all: number[] = [];
  return [...newerOn]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, grown], index) => {
      all = [...all, ...grown.map((l) => l.newer)].sort((a, b) => a - b);
      const names = all.map((n) => `RFC ${n}`).join(', ');
      return { index, day, value: all, statement: `RFC ${older} is obsoleted by ${names}` };
    });
}

(hasCorpora ? describe : describe.skip)('the RFC index of 2024, asked as of an older day', () => {
  let server: TestApplication;
  const { links, published } = rfcIndex();
  const byOlder = Map.groupBy(links, ({ older }) => older);

  beforeAll(async () => {
    server = await TestApplication.start();
    let page: ReturnType<typeof rows> = [];
    const rows = (older: number) =>
      recordsOf(older, byOlder.get(older) ?? [], published).map((r) => ({ ...r, older }));
    const flush = async (): Promise<void> => {
      const text = page.map((r) => `${r.statement}.`).join('\n');
      const job = await server.ingest({
        source: { title: 'RFC index', type: 'index', text },
        records: page.map((r, at) => ({
          topic: `RFC ${r.older}`,
          statement: r.statement,
          value: r.value,
          effective_from: r.day,
          supersedes: r.index === 0 ? [] : [`#${at - 1}`],
          status: 'approved',
          evidence: [{ quote: `${r.statement}.` }],
        })),
      });
      expect(job['counts']).toEqual({ stored: page.length, skipped: 0, queued: 0 });
      page = [];
    };
    for (const older of byOlder.keys()) {
      const next = rows(older);
      if (page.length + next.length > PAGE) await flush();
      page.push(...next);
    }
    await flush();
  }, 300_000);
  afterAll(() => server.close());

  it.each([2020, 2022] as const)(
    'QO-24: gives exactly the links of the snapshot of %d',
    async (year) => {
      const snapshot = rfcSnapshot(year);
      const found: string[] = [];
      for (const older of byOlder.keys()) {
        const { status, body } = await server.call<Answer>('POST', '/v1/answers', {
          question: `What made RFC ${older} obsolete?`,
          topic: `RFC ${older}`,
          as_of: snapshot.day,
        });
        expect(status).toBe(200);
        expect(['verified', 'unknown']).toContain(body.state);
        for (const newer of body.decision?.value ?? []) found.push(shown({ newer, older }));
      }
      const expected = snapshot.links.map(shown);
      process.stdout.write(`RFC links as of ${snapshot.day}: ${found.length}\n`);
      expect(found.sort()).toEqual([...new Set(expected)].sort());
      expect(found.length).toBe({ 2020: 1_381, 2022: 1_420 }[year]);
    },
    120_000,
  );
});
