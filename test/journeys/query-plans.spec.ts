import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Param, Reads } from '../../libs/projections/read-database.js';
import { decisionsMade } from '../../libs/decisions/projections/decided.js';
import { pending } from '../../libs/decisions/projections/review-queue.js';
import { aliasesOf } from '../../libs/decisions/projections/topics.js';
import { TestApplication } from '../support/application.js';

let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start();
  const text = 'We pay within 30 days.';
  await server.ingest({
    source: { title: 'Minutes', type: 'note', text },
    records: [{ topic: 'terms', statement: text, status: 'approved', evidence: [{ quote: text }] }],
  });
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

/** The indexes of a table that SQLite uses for what `ask` reads of it; a scan of it or a sort of all that was found has no name. */
async function indexesOf(table: string, ask: (reads: Reads) => unknown): Promise<string[]> {
  const found: string[] = [];
  await server.application.ledger.models.read((reads) => {
    const note = (sql: string, params: readonly Param[]): void => {
      for (const { detail } of reads.all(`EXPLAIN QUERY PLAN ${sql}`, ...params)) {
        const line = String(detail);
        if (line.startsWith('USE TEMP B-TREE FOR ORDER BY')) found.push(`${table}: sorted`);
        if (new RegExp(`^(?:SCAN|SEARCH) ${table}\\b`).test(line))
          found.push(/^SEARCH.* USING .*?(PRIMARY KEY|(?<=INDEX )\w+)/.exec(line)?.[1] ?? line);
      }
    };
    ask({
      get: (sql, ...params) => {
        if (sql.includes(table)) note(sql, params);
        return reads.get(sql, ...params);
      },
      all: (sql, ...params) => {
        if (sql.includes(table)) note(sql, params);
        return reads.all(sql, ...params);
      },
      memo: (_model, _key, compute) => compute(),
      collecting: (work) => reads.collecting(work),
    });
  });
  return found;
}

it.each([
  [{}, 'pending_order'],
  [{ kind: 'conflict' }, 'pending_kind'],
  [{ topic: 'terms' }, 'pending_topic'],
  [{ topic: 'terms', kind: 'candidate' }, 'pending_topic'],
] as const)('O-30: what waits, asked with %j, rests on one index', async (input, index) => {
  expect(await indexesOf('pending', (reads) => pending(reads, 'main', input, 1))).toEqual([index]);
});

it.each([
  [{}, 'PRIMARY KEY'],
  [{ topic: 'terms' }, 'decided_line'],
])('decisions made, asked with %j, rest on one index', async (input, index) => {
  const ask = (reads: Reads) => decisionsMade(reads, 'main', input, Date.now(), 1);
  expect(await indexesOf('decided', ask)).toEqual([index]);
});

it('O-22: the names of a topic rest on what is kept by topic', async () => {
  const ask = (reads: Reads) => aliasesOf(reads, 'main', 'terms');
  expect(await indexesOf('topic_alias', ask)).toContain('topic_alias_topic');
  expect(await indexesOf('ontology_name', ask)).toContain('ontology_name_topic');
});
