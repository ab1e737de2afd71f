import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ReadDatabase, type Reads } from '#projections/read-database.js';
import type { ClaimView, ConflictView } from '../domain/claim-view.js';
import { claims } from './claims.js';
import { NamedClaims, conflictSummary } from './views.js';

let db: ReadDatabase;
beforeAll(() => {
  db = ReadDatabase.openForWriting(':memory:');
  for (const ddl of Object.values(claims.tables)) db.exec(ddl);
  for (const [i, id] of ['t.a', 't.b', 't.c'].entries())
    db.run(
      `INSERT INTO claim (workspace, topic, id, line, position, body, state, start_ms, end_ms, held)
        VALUES ('w', 't', ?, 0, ?, ?, 'approved', 0, 10, 1)`,
      id,
      i + 1,
      JSON.stringify(claimOf(id)),
    );
});
afterAll(() => {
  db.close();
});

const claimOf = (decision_id: string) => ({ decision_id, topic: 't', statement: 'x' }) as ClaimView;
const conflictOf = (...ids: string[]) =>
  ({ conflict_id: 't.c.c1', topic: 't', kind: 'same_scope', claims: ids }) as ConflictView;

it('looks up a claim once for all conflicts of an answer, and not at all what was read for it', () => {
  const asked: unknown[] = [];
  const reads = {
    get: (sql: string, ...params: string[]) => {
      asked.push(params.at(-1));
      return db.get(sql, ...params);
    },
  } as unknown as Reads;
  const named = new NamedClaims(reads, 'w', [claimOf('t.a')]);
  for (const ids of [
    ['t.a', 't.b'],
    ['t.a', 't.b', 't.c'],
    ['t.gone', 't.c'],
  ])
    // prettier-ignore
    expect(conflictSummary(named, conflictOf(...ids), 'an owner')).toEqual({
      id: 't.c.c1',
      claims: ids,
      would_be_resolved_by: [
        ...ids
          .filter((id) => id !== 't.gone')
          .map((id) => `a dated source that says from when ${id} applies`),
        expect.stringContaining('an approval by an owner'),
      ],
    });
  expect(asked).toEqual(['t.b', 't.c', 't.gone']);
});
