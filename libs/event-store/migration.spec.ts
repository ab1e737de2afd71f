import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { log, newEvent } from './conformance-support.js';
import { NO_STREAM } from './event-store.js';
import { STEPS, stepsFrom, type MigrationStep } from './migration.js';
import { migrate, planMigration } from './sqlite-migration.js';
import { ledgerFile, SCHEMA_VERSION } from './sqlite-file.js';
import { openSqliteReader, openSqliteStore } from './sqlite.js';

const kinds: MigrationStep = {
  from: 1,
  what: 'an index of event types',
  sql: `CREATE TABLE kind (name TEXT PRIMARY KEY) STRICT;
        INSERT INTO kind SELECT DISTINCT json_extract(header, '$.type') FROM event;`,
};
const sizes: MigrationStep = {
  from: 2,
  what: 'the size of each payload',
  sql: `ALTER TABLE event ADD COLUMN size INTEGER;
        DROP TRIGGER event_no_update; UPDATE event SET size = octet_length(payload);`,
};
const FIXTURE = { steps: [kinds, sizes], to: 3 };

let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'precedent-migration-'));
  const store = await openSqliteStore(dir, { clock: Date.now });
  for (let i = 0; i < 40; i += 1) await store.append(`s-${i}`, NO_STREAM, [newEvent()]);
  await store.close();
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const bytes = (): Buffer => readFileSync(ledgerFile(dir));
const caught = (work: Promise<unknown>): Promise<unknown> => work.catch((e: unknown) => e);

function ask(sql: string): unknown {
  const db = new DatabaseSync(ledgerFile(dir));
  try {
    return Object.values(db.prepare(sql).get() ?? {})[0];
  } finally {
    db.close();
  }
}

const layout = (): unknown => ask('PRAGMA user_version');

describe('migration', () => {
  it('knows a step from every layout that was ever released to the next', () => {
    expect(stepsFrom(1, SCHEMA_VERSION, STEPS)).toHaveLength(SCHEMA_VERSION - 1);
    expect(STEPS.map(({ from }) => from)).toEqual(STEPS.map((_, i) => i + 1));
    expect(() => stepsFrom(1, 4, FIXTURE.steps)).toThrow('layout 3');
  });

  it('has nothing to do on a ledger of the present layout, and leaves its bytes as they are', async () => {
    const before = bytes();
    expect(planMigration(dir)).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION, steps: [] });
    expect(await migrate(dir)).toEqual(planMigration(dir));
    expect(bytes().equals(before)).toBe(true);
  });

  it('dry, it says what it would do and changes nothing', () => {
    const [before, files] = [bytes(), readdirSync(dir)];
    // SQLite's own, which every reader of a ledger lays there.
    files.push('ledger.sqlite-shm', 'ledger.sqlite-wal');
    expect(planMigration(dir, FIXTURE)).toEqual({ from: 1, to: 3, steps: [kinds, sizes] });
    expect(bytes().equals(before)).toBe(true);
    expect(readdirSync(dir).sort()).toEqual(files.sort());
  });

  it('P4: runs all steps and leaves the history as it was', async () => {
    const reader = openSqliteReader(dir);
    const before = await log(reader);
    await reader.close();
    const said: string[] = [];
    const done = await migrate(dir, { ...FIXTURE, onStep: (what) => said.push(what) });
    expect(done).toMatchObject({ from: 1, to: 3, coverage: { events: 40, last_position: 40 } });
    expect(said).toEqual([
      'reading the history',
      kinds.what,
      sizes.what,
      'reading the history again',
    ]);
    expect(layout()).toBe(3);
    expect(ask('SELECT name FROM kind')).toBe('something.happened');
    expect(ask('SELECT count(*) FROM event WHERE size = 7')).toBe(40);
    expect(ask('SELECT group_concat(header, char(10) ORDER BY position) FROM event')).toBe(
      before.map((e) => e.header).join('\n'),
    );
    expect(await migrate(dir, FIXTURE)).toEqual({ from: 3, to: 3, steps: [] });
  });

  const bad: [string, string, object][] = [
    ['fails', 'CREATE TABLE kind (name TEXT)', { message: expect.stringContaining('kind') }],
    [
      'changes the history',
      `DROP TRIGGER event_no_update; UPDATE event SET header = replace(header, '"ann"', '"eve"') WHERE position = 7`,
      { finding: { what: 'headers_sha256' } },
    ],
    [
      'loses an event',
      'DROP TRIGGER event_no_delete; DELETE FROM event WHERE position = 40',
      { finding: { what: 'events', expected: '40', found: '39' } },
    ],
  ];
  it.each(bad)('P4: a step that %s undoes every step', async (_, sql, error) => {
    const steps = [kinds, { from: 2, what: 'a mistake', sql }];
    expect(await caught(migrate(dir, { steps, to: 3 }))).toMatchObject(error);
    expect(layout()).toBe(1);
    const store = await openSqliteStore(dir, { clock: Date.now });
    expect(await log(store)).toHaveLength(40);
    await store.close();
  });

  it('P1: killed between its steps, it leaves the old layout and every event', async () => {
    const script = `
      import { migrate } from '#event-store/sqlite-migration.js';
      await migrate(${JSON.stringify(dir)}, {
        ...${JSON.stringify(FIXTURE)},
        onStep: (what) => {
          if (what === 'reading the history again') process.kill(process.pid, 'SIGKILL');
        },
      });`;
    const hooks = ['--conditions=precedent-source', '--import', './test/support/ts-hooks.mjs'];
    const args = [...hooks, '--input-type=module', '--eval', script];
    const { signal, stderr } = spawnSync(process.execPath, args, {
      env: { ...process.env, NODE_OPTIONS: '' },
      encoding: 'utf8',
    });
    expect({ signal, stderr }).toMatchObject({ signal: 'SIGKILL' });
    expect(layout()).toBe(1);
    expect(ask(`SELECT count(*) FROM sqlite_schema WHERE name = 'kind'`)).toBe(0);
    expect(await migrate(dir, FIXTURE)).toMatchObject({ coverage: { events: 40 } });
  });

  it('refuses a newer ledger and leaves its bytes as they are', async () => {
    ask('PRAGMA user_version = 4');
    const before = bytes();
    expect(await caught(migrate(dir, FIXTURE))).toMatchObject({ error: 'newer_ledger' });
    expect(() => planMigration(dir, FIXTURE)).toThrow('layout 4');
    expect(bytes().equals(before)).toBe(true);
  });

  it('refuses a ledger that a process writes', async () => {
    const store = await openSqliteStore(dir, { clock: Date.now });
    expect(planMigration(dir, FIXTURE).steps).toHaveLength(2);
    expect(await caught(migrate(dir, FIXTURE))).toMatchObject({ error: 'ledger_in_use' });
    await store.append('s-x', NO_STREAM, [newEvent()]);
    await store.close();
    expect(layout()).toBe(1);
  });
});
