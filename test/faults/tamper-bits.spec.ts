import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditLedger, copyOf, tamper, verified } from '../support/audit-ledger.js';
import type { AuditLedger } from '../support/audit-ledger.js';
import { chance } from '../support/chance.js';
import { proved } from '../support/proved.js';
import type { Report } from '../../apps/cli/src/verify-report.js';

const SEED = Number(process.env['TAMPER_SEED'] ?? Date.now() % 1_000_000);
const random = chance(SEED);
const pick = (n: number): number => Math.floor(random() * n);

const scratch = mkdtempSync(join(tmpdir(), 'precedent-tamper-'));
const work = join(scratch, 'work');
let ledger: AuditLedger;
const numbers: Record<string, number> = { 'bits flipped': 0, caught: 0, 'named exactly': 0 };

beforeAll(async () => {
  ledger = await auditLedger(scratch);
  copyOf(ledger, work);
}, 120_000);
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

function restore(file = 'ledger.sqlite'): void {
  for (const part of ['', '-wal', '-shm']) {
    rmSync(join(work, `${file}${part}`), { force: true });
    const original = join(ledger.dir, `${file}${part}`);
    if (part !== '-shm' && existsSync(original))
      copyFileSync(original, join(work, `${file}${part}`));
  }
}

/** The bytes with one bit that is another. */
function flipped(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const at = pick(changed.length);
  changed[at] = (changed[at] ?? 0) ^ (1 << pick(8));
  return changed;
}

/** Flips a bit of one cell in the copy, checks it, and puts the file back. */
async function flipCell(
  table: string,
  column: string,
  where: string,
  values: readonly SQLInputValue[],
): Promise<Report> {
  tamper(work, (db) => {
    const row = db
      .prepare(
        `SELECT CAST(${column} AS BLOB) AS bytes, typeof(${column}) AS type FROM ${table} WHERE ${where}`,
      )
      .get(...values) as { bytes: Uint8Array; type: string };
    const type = row.type === 'blob' ? 'BLOB' : 'TEXT';
    db.prepare(`UPDATE ${table} SET ${column} = CAST(? AS ${type}) WHERE ${where}`).run(
      flipped(row.bytes),
      ...values,
    );
  });
  const report = await verified({ data: work });
  restore();
  return report;
}

function caught(report: Report, where: string, expected: object): void {
  numbers['bits flipped'] = (numbers['bits flipped'] ?? 0) + 1;
  expect({ where, ok: report.ok, ...report.finding }).toMatchObject({
    where,
    ok: false,
    ...expected,
  });
  numbers['caught'] = (numbers['caught'] ?? 0) + 1;
  if (report.finding?.first_position === report.finding?.last_position)
    numbers['named exactly'] = (numbers['named exactly'] ?? 0) + 1;
}

const at = (position: number): object => ({
  first_position: String(position),
  last_position: String(position),
});

function positionsOf(sql: string): number[] {
  const db = new DatabaseSync(join(ledger.dir, 'ledger.sqlite'), { readOnly: true });
  const rows = db.prepare(sql).all() as { position: number }[];
  db.close();
  return rows.map(({ position }) => position);
}

describe(`single bits of a ledger (TAMPER_SEED=${SEED})`, () => {
  it('P4: nothing is found in the ledger as it is, and all of it is looked at', async () => {
    const report = await verified({ data: work }, { receipts: ledger.receipts });
    expect(report).toMatchObject({ ok: true });
    const { events, checkpoints, receipts, read_models, texts } = report.checked;
    expect(events).toBe(ledger.last);
    expect(Math.min(checkpoints, receipts, texts, read_models.rows)).toBeGreaterThan(4);
    expect(report.unsigned_events).toBeGreaterThan(10);
  }, 60_000);

  it.each(['header', 'payload'])(
    'P4: a flipped bit of a %s is found at its position, signed or not yet',
    async (column) => {
      for (let i = 0; i < 80; i += 1) {
        // Half of them where no checkpoint covers it.
        const unsigned = i % 2 === 0;
        const position = unsigned ? ledger.last - pick(100) : 1 + pick(ledger.last - 150);
        const report = await flipCell('event', column, 'position = ?', [position]);
        caught(report, `${column} at ${position}`, at(position));
      }
    },
    240_000,
  );

  it('P4: a flipped bit of a checkpoint event is found at its position', async () => {
    const places = positionsOf(
      "SELECT position FROM event JOIN stream ON stream.id = event.stream WHERE name LIKE 'checkpoint-%'",
    );
    expect(places.length).toBeGreaterThan(6);
    for (const position of [...places, ...places])
      for (const column of ['header', 'payload'])
        caught(
          await flipCell('event', column, 'position = ?', [position]),
          `checkpoint at ${position}`,
          at(position),
        );
  }, 120_000);

  it('P4: a flipped bit of a stream’s name is found at its first event', async () => {
    for (let i = 0; i < 20; i += 1) {
      const position = 1 + pick(ledger.last);
      const [first] = positionsOf(
        `SELECT min(position) AS position FROM event WHERE stream = (SELECT stream FROM event WHERE position = ${position})`,
      );
      const report = await flipCell(
        'stream',
        'name',
        'id = (SELECT stream FROM event WHERE position = ?)',
        [position],
      );
      caught(report, `stream of ${position}`, at(first ?? 0));
    }
  }, 120_000);

  it('P4: a flipped bit of the columns of the index is found at its position', async () => {
    for (const column of ['revision', 'stream'])
      for (let i = 0; i < 15; i += 1) {
        const position = 1 + pick(ledger.last);
        let done = false;
        tamper(work, (db) => {
          const change = `UPDATE event SET ${column} = ${column} | (1 << ?) WHERE position = ?`;
          // Another event may have that place: the index itself refuses it, which is as good.
          try {
            done = db.prepare(change).run(10 + pick(20), position).changes === 1;
          } catch {
            done = false;
          }
        });
        if (done) caught(await verified({ data: work }), `${column} at ${position}`, at(position));
        restore();
      }
  }, 120_000);

  it('P4: a flipped bit of a text is found, and the text named', async () => {
    for (let i = 0; i < 20; i += 1) {
      const db = new DatabaseSync(join(work, 'ledger.sqlite'));
      const blobs = db.prepare('SELECT hash FROM blob ORDER BY hash').all() as { hash: string }[];
      db.close();
      const { hash = '' } = blobs[pick(blobs.length)] ?? {};
      const report = await flipCell('blob', 'bytes', 'hash = ?', [hash]);
      caught(report, `blob ${hash}`, { at: `blob ${hash}`, expected: hash });
    }
  }, 120_000);

  it('P4: a flipped bit of the read models is found, and the table named', async () => {
    const file = 'read.sqlite';
    const db = new DatabaseSync(join(work, file));
    const tables = (
      db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
    )
      .map(({ name }) => name)
      .filter((name) => db.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.['n'] !== 0)
      .filter((name) => name !== 'checkpoint');
    db.close();
    expect(tables.length).toBeGreaterThan(10);
    for (let i = 0; i < 40; i += 1) {
      const table = tables[i % tables.length] ?? '';
      tamper(work, (models) => flipSome(models, table), file);
      caught(await verified({ data: work }), `table ${table}`, {
        // A leaf hash that no checkpoint covers is one of two records of the same event: the position says which.
        ...(table === 'log_leaf' ? {} : { at: expect.stringContaining(`table ${table}`) }),
      });
      restore(file);
    }
  }, 240_000);

  it('P4: without read models, what a checkpoint covers is narrowed down to between two of them', async () => {
    rmSync(join(work, 'read.sqlite'));
    let wide = 0;
    for (let i = 0; i < 40; i += 1) {
      const position = 1 + pick(ledger.signed);
      const report = await flipCell('event', 'header', 'position = ?', [position]);
      caught(report, `header at ${position}, alone`, {});
      const { first_position: first, last_position: last } = report.finding ?? {};
      expect({ position, inside: Number(first) <= position && position <= Number(last) }).toEqual({
        position,
        inside: true,
      });
      wide = Math.max(wide, Number(last) - Number(first));
    }
    expect(wide).toBeLessThan(ledger.last / 2);
    proved('a ledger’s bits', numbers, `TAMPER_SEED=${SEED}`);
  }, 120_000);
});

/** Any column of any row, as long as another value comes of it. */
function flipSome(db: DatabaseSync, table: string): void {
  const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as {
    name: string;
  }[];
  for (let tries = 0; tries < 200; tries += 1) {
    const column = `"${columns[pick(columns.length)]?.name ?? ''}"`;
    const row = db.prepare(`SELECT * FROM ${table} LIMIT 1 OFFSET ?`).get(pickRow(db, table));
    const value = row?.[column.slice(1, -1)];
    const where = Object.keys(row ?? {})
      .map((name) => `"${name}" IS ?`)
      .join(' AND ');
    const other =
      typeof value === 'number'
        ? value ^ (1 << pick(30))
        : typeof value === 'string' && value !== ''
          ? Buffer.from(flipped(Buffer.from(value))).toString('latin1')
          : undefined;
    if (other === undefined || other === value) continue;
    try {
      const set = db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`);
      if (set.run(other, ...(Object.values(row ?? {}) as SQLInputValue[])).changes > 0) return;
    } catch {
      // A key that is there already, or a column that takes no such value: another one, then.
    }
  }
  throw new Error(`nothing to flip in ${table}`);
}

function pickRow(db: DatabaseSync, table: string): number {
  return pick(Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']));
}
