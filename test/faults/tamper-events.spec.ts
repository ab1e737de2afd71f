import { mkdtempSync, rmSync } from 'node:fs';
import { copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import {
  auditLedger,
  copyOf,
  tamper,
  verified,
  type AuditLedger,
} from '../support/audit-ledger.js';
import { proved } from '../support/proved.js';

const scratch = mkdtempSync(join(tmpdir(), 'precedent-tamper-'));
const work = join(scratch, 'work');
let ledger: AuditLedger;
let other: AuditLedger;
const numbers = { changes: 0, caught: 0 };

beforeAll(async () => {
  ledger = await auditLedger(join(scratch, 'one'));
  other = await auditLedger(join(scratch, 'other'));
}, 240_000);
beforeEach(() => {
  copyOf(ledger, work);
});
afterEach(() => {
  rmSync(work, { recursive: true, force: true });
});
afterAll(() => {
  proved('a ledger’s events', numbers);
  rmSync(scratch, { recursive: true, force: true });
});

interface Stored {
  position: number;
  stream: number;
  revision: number;
  header: string;
  payload: string;
}

function at(db: DatabaseSync, position: number): Stored {
  return db.prepare('SELECT * FROM event WHERE position = ?').get(position) as unknown as Stored;
}

/** The same event with another payload, and every hash in it made anew. */
function rewritten({ header, payload }: Stored): { header: string; payload: string } {
  const changed = payload.replace(/[a-z](?=[^"]*"\}$)/, (c) => (c === 'a' ? 'b' : 'a'));
  expect(changed).not.toBe(payload);
  return {
    payload: changed,
    header: header.replace(sha256(payload), sha256(changed)),
  };
}

/** Puts `event` where it says, with room made for it or the gap behind it closed. */
function shift(db: DatabaseSync, from: number, by: 1 | -1): void {
  // By way of negative positions, which nobody has.
  db.exec(`UPDATE event SET position = -(position + ${by}) WHERE position >= ${from}`);
  db.exec('UPDATE event SET position = -position WHERE position < 0');
}

/** Two neighbours of different streams, the first at or after a position. */
function neighbours(db: DatabaseSync, from: number): number {
  for (let position = from; ; position += 1)
    if (at(db, position).stream !== at(db, position + 1).stream) return position;
}

/** A position at or after `from` whose event is the last one of its stream. */
function lastOfStream(db: DatabaseSync, from: number): number {
  const row = db
    .prepare(
      'SELECT min(position) AS n FROM event AS e WHERE position >= ? AND NOT EXISTS ' +
        '(SELECT 1 FROM event WHERE stream = e.stream AND revision > e.revision)',
    )
    .get(from);
  return Number(row?.['n']);
}

async function found(position: number, options = {}): Promise<void> {
  numbers.changes += 1;
  const report = await verified({ data: work }, options);
  expect({ ok: report.ok, ...report.finding }).toMatchObject({
    ok: false,
    first_position: String(position),
    last_position: String(position),
  });
  numbers.caught += 1;
}

/** Somewhere that a checkpoint covers, and somewhere that none does. */
const places = (): [string, number][] => [
  ['signed', Math.floor(ledger.signed / 2)],
  ['not yet signed', ledger.last - 40],
];

describe('events of a ledger', () => {
  it('P4: an event that was edited, with all of its hashes made anew, is found', async () => {
    for (const [, position] of places()) {
      let place = position;
      tamper(work, (db) => {
        while (!/[a-z](?=[^"]*"\}$)/.test(at(db, place).payload)) place += 1;
        const { header, payload } = rewritten(at(db, place));
        db.prepare('UPDATE event SET header = ?, payload = ? WHERE position = ?').run(
          header,
          payload,
          place,
        );
      });
      await found(place);
      copyOf(ledger, work);
    }
  }, 60_000);

  it('P4: an event that was removed is found, also where the gap was closed', async () => {
    for (const [, position] of places())
      for (const closed of [false, true]) {
        let place = position;
        tamper(work, (db) => {
          place = lastOfStream(db, position);
          db.exec(`DELETE FROM event WHERE position = ${place}`);
          if (closed) shift(db, place + 1, -1);
        });
        await found(place);
        copyOf(ledger, work);
      }
  }, 60_000);

  it('P4: an event that was inserted is found', async () => {
    for (const [, position] of places()) {
      tamper(work, (db) => {
        const before = at(db, position);
        shift(db, position, 1);
        db.exec("INSERT INTO stream (name) VALUES ('topic-main-planted')");
        const { stream: name } = JSON.parse(before.header) as { stream: string };
        const header = before.header
          .replace(JSON.stringify(name), '"topic-main-planted"')
          .replace(/"revision":\d+/, '"revision":0');
        db.prepare('INSERT INTO event SELECT ?, max(id), 0, ?, ? FROM stream').run(
          position,
          header,
          before.payload,
        );
      });
      await found(position);
      copyOf(ledger, work);
    }
  }, 60_000);

  it('P4: two events in each other’s place are found', async () => {
    for (const [, position] of places()) {
      let place = position;
      tamper(work, (db) => {
        place = neighbours(db, position);
        db.exec(`UPDATE event SET position = -1 WHERE position = ${place}`);
        db.exec(`UPDATE event SET position = ${place} WHERE position = ${place + 1}`);
        db.exec(`UPDATE event SET position = ${place + 1} WHERE position = -1`);
      });
      await found(place);
      copyOf(ledger, work);
    }
  }, 60_000);

  it('P4: an event that stands there a second time is found', async () => {
    tamper(work, (db) => {
      const event = at(db, ledger.last - 40);
      db.exec("INSERT INTO stream (name) VALUES ('topic-main-again')");
      db.prepare('INSERT INTO event SELECT ?, max(id), 0, ?, ? FROM stream').run(
        ledger.last + 1,
        event.header,
        event.payload,
      );
    });
    await found(ledger.last + 1);
  }, 60_000);

  it('P4: a tail that was cut off is found by the read models, and by a receipt or checkpoint kept elsewhere', async () => {
    const cut = (from: number) => (db: DatabaseSync) =>
      db.exec(`DELETE FROM event WHERE position >= ${from}`);
    for (const from of [ledger.last, ledger.last - 30, ledger.signed - 20]) {
      tamper(work, cut(from));
      await found(from);
      copyOf(ledger, work);
    }
    tamper(work, cut(ledger.signed - 60));
    // Whoever cuts it removes the read models as well: they are made anew, and nothing in the ledger tells.
    for (const part of ['', '-wal', '-shm'])
      rmSync(join(work, `read.sqlite${part}`), { force: true });
    const alone = await verified({ data: work });
    expect(alone).toMatchObject({ ok: true });
    expect(alone.not_checked.map(({ what }) => what)).toContain('whether the end was cut off');
    const keys = join(ledger.dir, 'log-keys.txt');
    const kept = await verified({ data: work }, { keys, receipts: ledger.receipts });
    expect(kept).toMatchObject({
      ok: false,
      finding: { at: expect.stringContaining('end of the log') },
    });
    numbers.changes += 1;
    numbers.caught += 1;
  }, 60_000);

  it('P4: read models of another ledger are found', async () => {
    for (const part of ['-wal', '-shm']) rmSync(join(work, `read.sqlite${part}`), { force: true });
    copyFileSync(join(other.dir, 'read.sqlite'), join(work, 'read.sqlite'));
    numbers.changes += 1;
    const report = await verified({ data: work });
    expect(report).toMatchObject({ ok: false });
    numbers.caught += 1;
  }, 60_000);

  it('P4: another ledger in the place of this one is found by the keys and by the receipts of this one', async () => {
    copyOf(other, work);
    expect(await verified({ data: work })).toMatchObject({ ok: true });
    const keys = join(ledger.dir, 'log-keys.txt');
    numbers.changes += 2;
    const byKeys = await verified({ data: work }, { keys });
    expect(byKeys).toMatchObject({
      ok: false,
      finding: { what: expect.stringContaining('not among those given') },
    });
    const byReceipt = await verified({ data: work }, { receipts: ledger.receipts });
    expect(byReceipt).toMatchObject({ ok: false, finding: { at: ledger.receipts[0] } });
    numbers.caught += 2;
  }, 60_000);
});
