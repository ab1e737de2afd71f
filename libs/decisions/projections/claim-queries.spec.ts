import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ReadDatabase, type Param, type Reads } from '#projections/read-database.js';
import { rowKey } from '#projections/row-key.js';
import type { ClaimView } from '../domain/claim-view.js';
import { FEW, topicAsOf } from './claim-queries.js';
import { conflictsFor } from './conflict-queries.js';
import { claims } from './claims.js';
import { knownPosition, wholeAppends } from './knowledge.js';
import { timeline } from './timeline.js';
import { topics } from './topics.js';

let db: ReadDatabase;
beforeAll(() => {
  db = ReadDatabase.openForWriting(':memory:');
  for (const { tables } of [claims, timeline, topics])
    for (const ddl of Object.values(tables)) db.exec(ddl);
});
afterAll(() => {
  db.close();
});

/** What SQLite does for each query that is asked of it. */
class Plans implements Reads {
  readonly of = new Map<string, string>();

  get(sql: string, ...params: readonly Param[]) {
    this.note(sql, params);
    return db.get(sql, ...params);
  }

  all(sql: string, ...params: readonly Param[]) {
    this.note(sql, params);
    return db.all(sql, ...params);
  }

  /** The workspace has of everything: no query is left out. */
  memo<T>(_model: unknown, key: string, compute: () => T): T {
    return /^(?:conflicts|ontology_name|topic_merge) /.test(key) ? (true as T) : compute();
  }

  collecting<T>(work: () => T) {
    return { result: work(), keys: [] };
  }

  private note(sql: string, params: readonly Param[]): void {
    const rows = db.all(`EXPLAIN QUERY PLAN ${sql}`, ...params);
    this.of.set(sql.replace(/\s+/g, ' '), rows.map((r) => r['detail']).join('; '));
  }
}

const MOMENTS = [
  { position: Infinity, ms: Infinity },
  { position: 7, ms: Infinity },
  { position: Infinity, ms: 7 },
];

it('answers rest on index ranges of one topic, never on a scan or a sort of it', () => {
  const plans = new Plans();
  db.exec(`INSERT INTO conflict_claim VALUES ('w', 't', 'c', 'c.c1')`);
  for (const known of MOMENTS) {
    wholeAppends(plans, 'w', known);
    knownPosition(plans, 'w', known);
    topicAsOf(plans, 'w', 't', 5, known);
    conflictsFor(plans, 'w', 't', ['c'], known);
  }
  const own = [...plans.of].filter(([sql]) =>
    /FROM (?:claim|conflict|timeline|json_each)/.test(sql),
  );
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter(([sql]) => sql.includes('JOIN conflict'))).toHaveLength(2);
  for (const [sql, plan] of own) {
    expect([sql, plan]).not.toEqual([
      sql,
      expect.stringMatching(/SCAN (?:claim|conflict|timeline|c|k)\b/),
    ]);
    expect([sql, plan]).not.toEqual([sql, expect.stringContaining('TEMP B-TREE')]);
    const narrowed = /end_ms (?:>|<=) \?/.test(sql) ? 'claim_validity' : '';
    expect([sql, plan]).toEqual([sql, expect.stringContaining(narrowed)]);
    if (/FROM (?:claim|conflict)\b/.test(sql))
      expect([sql, plan]).toEqual([
        sql,
        expect.stringMatching(/(?:line=\?|workspace=\? AND topic=\?)/),
      ]);
  }
});

it('P3: rows of other names that share a number with a topic are not its own', () => {
  const row = (position: number, workspace: string, topic: string, state: string, held: number) =>
    db.run(
      `INSERT INTO claim VALUES (?, ?, ?, ?, ?, ?, ?, 0, 10, NULL, NULL, ?, ?)`,
      ...[workspace, topic, `${topic}.${position}`, rowKey('w', 'long'), state, held],
      ...[held === 1 ? position : null, position, JSON.stringify(claimAt(topic, position, held))],
    );
  const asked = (): (string | undefined)[] =>
    topicAsOf(db, 'w', 'long', 5, { position: Infinity, ms: Infinity }).claims.map(
      (claim) => claim.topic,
    );
  row(1, 'w', 'other', 'approved', 1);
  row(2, 'v', 'long', 'candidate', 0);
  expect(asked()).toEqual([]);
  row(3, 'w', 'long', 'approved', 1);
  expect(asked()).toEqual(['long']);
  for (let position = 4; position <= 2 * FEW; position++)
    row(position, 'w', 'other', 'approved', 1);
  expect(asked()).toEqual(['long']);
});

function claimAt(topic: string, position: number, held: number): ClaimView {
  const fact = { position, ms: 0, at: '1970-01-01T00:00:00.000Z', by: 'ann' };
  return {
    decision_id: `${topic}.${position}`,
    topic,
    statement: 'Yes.',
    scope: {},
    evidence: [],
    relations: [],
    content_hash: '',
    reasons: [],
    proposed: fact,
    ...(held === 1
      ? { approval: { ...fact, revision: 1, reason: 'so', startMs: 0, endMs: 10 } }
      : {}),
    ends: [],
    confirmations: [],
  };
}
