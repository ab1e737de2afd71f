import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import {
  evaluationKit as kit,
  MINUTES,
  outcomes,
  record,
  type Prepared,
  type Read,
} from '../support/evaluation.js';

const SQLITE = { PRECEDENT_EVENTSTORE: 'sqlite:' };
const CASES = [{ question: 'backups', expect: { state: 'verified', value: { days: 90 } } }];

describe('on the disk', () => {
  let server: TestApplication;
  let set: Prepared;
  beforeAll(async () => {
    server = await TestApplication.start(SQLITE);
    await server.ingest(MINUTES);
    set = await kit(server).approved(CASES);
    const { body } = await kit(server).run(set.dataset_id);
    expect(body.summary.checks).toEqual({ pass: 3, fail: 0, not_applicable: 2 });
    await kit(server).prepare({ name: 'draft', cases: CASES });
  });
  afterAll(async () => {
    await server.close();
    rmSync(server.dir, { recursive: true, force: true });
  });

  async function restarted(meanwhile: () => void): Promise<void> {
    await server.close();
    meanwhile();
    server = await TestApplication.start({ ...SQLITE, PRECEDENT_DATA: server.dir });
  }

  it('invariant 4: read models made anew from the log give the same answers', async () => {
    const { readFile } = server.application.ledger;
    const everything = async (): Promise<unknown[]> => {
      const at = kit(server);
      const [one, queue] = [
        await at.read(`datasets/${set.dataset_id}`),
        await server.call('GET', '/v1/pending?kind=dataset'),
      ];
      const runs = (one.runs ?? []).map(({ run_id }) => at.read(`runs/${run_id}`));
      return [await at.read('datasets'), one, queue.body['items'], ...(await Promise.all(runs))];
    };
    const before = await everything();
    expect(before).toHaveLength(4);
    await restarted(() => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${readFile}${end}`, { force: true });
    });
    expect(withoutPositions(await everything())).toEqual(withoutPositions(before));
  });

  it('O-48, QO-19: an excerpt whose source no longer has its hash fails, and only that check', async () => {
    await restarted(() => {
      const file = new DatabaseSync(join(server.dir, 'ledger.sqlite'));
      // The file itself refuses this: somebody with the file and with intent.
      const guards = file
        .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'blob'`)
        .all() as { name: string; sql: string }[];
      for (const { name } of guards) file.exec(`DROP TRIGGER "${name}"`);
      // The excerpt still stands where it stood.
      const more = `UPDATE blob SET bytes = CAST(CAST(bytes AS TEXT) || ' Not.' AS BLOB)`;
      expect(file.prepare(more).run().changes).toBeGreaterThan(0);
      for (const { sql } of guards) file.exec(sql);
      file.close();
    });
    const run = (await kit(server).run(set.dataset_id)).body;
    const { results } = await kit(server).read(`runs/${run.run_id}`);
    expect(outcomes(results)).toEqual(['ppnnf']);
    expect(results?.[0]?.checks[4]?.detail).toBe('1 of 1 do not resolve to a listed source');
  });
});

it('B38: the same content in another workspace is a dataset of its own', async () => {
  const server = await TestApplication.start();
  const at = kit(server);
  const set = await at.approved(CASES);
  const other = await server.call<{ key: string }>('POST', '/v1/organisations', {
    name: 'Other',
    owner_name: 'Eve',
  });
  const { key } = other.body;
  expect((await at.run(set.dataset_id, {}, key)).status).toBe(404);
  expect((await at.export(set.dataset_id, key)).status).toBe(404);
  const theirs = (await at.prepare({ name: 'set', cases: CASES }, key)).body;
  expect([theirs.dataset_id, theirs.status]).toEqual([set.dataset_id, 'draft']);
  expect((await at.run(set.dataset_id, {}, key)).body.error).toBe('dataset_not_approved');
  expect((await at.review(theirs, 'retire', key)).body.status).toBe('retired');
  expect((await at.run(set.dataset_id)).status).toBe(201);
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

it('a comparison that is too long for one result is cut at a case, and its cursor leads on', async () => {
  const server = await TestApplication.start();
  const at = kit(server);
  const value = '\u{1f600}'.repeat(1_900);
  await server.ingest({
    source: { title: 'Long', type: 'note', text: 'A long value was agreed.' },
    records: [record('long', 'A long value', value, 'A long value was agreed')],
  });
  const cases = Array.from({ length: 12 }, (_, i) => ({
    question: 'long',
    as_of: `2025-01-${10 + i}`,
    expect: { state: 'verified', value },
  }));
  const { dataset_id } = await at.approved(cases);
  const [{ body: first }, { body: second }] = [await at.run(dataset_id), await at.run(dataset_id)];
  expect(second.summary.cases_passed).toBe(12);
  const asked = { run_id: second.run_id, compare_to: first.run_id };
  const seen: number[] = [];
  let pages = 0;
  for (let cursor: string | undefined = '0'; cursor !== undefined; pages++) {
    const page: Read & { refused: boolean } = await at.tool<Read>('get_intelligence', {
      ...asked,
      cursor,
    });
    expect(page.refused).toBe(false);
    seen.push(...(page.results ?? []).map((one) => one.case));
    cursor = page.next_cursor;
  }
  expect([seen, pages > 1]).toEqual([cases.map((_, i) => i), true]);
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

function withoutPositions(read: unknown): unknown {
  return JSON.parse(
    JSON.stringify(read).replaceAll(/"position":"\d+"/g, '"position":""'),
  ) as unknown;
}
