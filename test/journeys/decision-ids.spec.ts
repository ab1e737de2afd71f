import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { decisionId } from '#decisions/domain/claim.js';
import { TestApplication } from '../support/application.js';

let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start();
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const idOf = (statement: string): string => {
  const evidence = [
    { source_id: '', excerpt: statement, start: 0, end: statement.length, verbatim: true },
  ];
  return decisionId('house-rules', { statement, scope: {}, evidence });
};

/** One in some three thousand decisions has an id that ends as the id of a conflict does: with a c and digits. */
function statementOfAnIdLikeAConflict(): string {
  for (let n = 1; ; n += 1) if (/\.c\d{11}$/.test(idOf(`rule ${n}`))) return `rule ${n}`;
}

it('O-22: a decision whose id looks like that of a conflict is in the history of its topic', async () => {
  const statement = statementOfAnIdLikeAConflict();
  await server.ingest({
    source: { title: 'the rules', type: 'note', text: statement },
    records: [
      { topic: 'house rules', statement, status: 'approved', evidence: [{ quote: statement }] },
    ],
  });
  const history = async (): Promise<unknown[]> =>
    (
      await server.call<{ timeline: { kind: string; decision_id: string }[] }>(
        'GET',
        '/v1/topics/house-rules/history',
      )
    ).body.timeline.map(({ kind, decision_id }) => [kind, decision_id]);
  const id = idOf(statement);
  expect(await history()).toEqual([
    ['proposed', id],
    ['approved', id],
  ]);
  const path = `/v1/decisions/${id}/reviews`;
  const { status } = await server.call('POST', path, { action: 'revoke', reason: 'a slip' });
  expect(status).toBe(200);
  expect(await history()).toContainEqual(['revoked', id]);
});
