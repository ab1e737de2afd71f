import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditLedger, verified, type AuditLedger } from '../support/audit-ledger.js';
import { chance } from '../support/chance.js';
import type { LogEvent } from '../support/eventstoredb-log.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import type { Report } from '../../apps/cli/src/verify-report.js';
import { proved } from '../support/proved.js';

const SEED = Number(process.env['TAMPER_SEED'] ?? Date.now() % 1_000_000);
const random = chance(SEED);
const pick = (n: number): number => Math.floor(random() * n);

const scratch = mkdtempSync(join(tmpdir(), 'precedent-tamper-'));
const numbers = { changes: 0, caught: 0 };
let cluster: TestEventStoreDb;
let ledger: AuditLedger;
let events: LogEvent[];

beforeAll(async () => {
  cluster = await TestEventStoreDb.start();
  ledger = await auditLedger(scratch, cluster.connectionString);
  events = cluster.log.all.filter(({ stream }) => stream.startsWith('precedent:'));
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const check = (more = {}) => verified({ eventstore: cluster.directString, data: ledger.dir }, more);

async function found(position: number): Promise<void> {
  numbers.changes += 1;
  const report = await check();
  expect({ ok: report.ok, ...report.finding }).toMatchObject({
    ok: false,
    first_position: String(position),
    last_position: String(position),
  });
  numbers.caught += 1;
}

function inside({ finding }: Report, position: number): void {
  const [first, last] = [Number(finding?.first_position), Number(finding?.last_position)];
  expect({ position, finding, inside: first <= position && position <= last }).toMatchObject({
    inside: true,
  });
}

/** What is stored of an event, with one bit that is another, until the returned function is called. */
function flip(event: LogEvent, part: 'metadata' | 'data'): () => void {
  const before = event[part];
  const bytes = Uint8Array.from(before);
  // The first byte of metadata is the engine's own: what comes after it is the header.
  const at = part === 'metadata' ? 1 + pick(bytes.length - 1) : pick(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
  event[part] = bytes;
  return () => {
    event[part] = before;
  };
}

const some = (): LogEvent => events[pick(events.length)] as LogEvent;

/** Takes an event out of the cluster's log; the returned function puts it back. */
function removed(event: LogEvent): () => void {
  const lists = [cluster.log.all, cluster.log.stream(event.stream) as LogEvent[]];
  const places = lists.map((list) => list.indexOf(event));
  for (const [i, list] of lists.entries()) list.splice(places[i] ?? 0, 1);
  return () => {
    for (const [i, list] of lists.entries()) list.splice(places[i] ?? 0, 0, event);
  };
}

describe(`a ledger in EventStoreDB that was changed there (TAMPER_SEED=${SEED})`, () => {
  it('P4: it is proved as it is, with its receipts', async () => {
    const report = await check({ receipts: ledger.receipts });
    expect(report).toMatchObject({ ok: true, source: { kind: 'eventstoredb' } });
    expect(report.checked.events).toBe(events.length);
    expect(report.checked.checkpoints).toBeGreaterThan(4);
    expect(report.checked.read_models.rows).toBeGreaterThan(100);
  }, 60_000);

  it('P4: a flipped bit of a header or payload is found at its position', async () => {
    for (let i = 0; i < 30; i += 1) {
      const event = some();
      const undo = flip(event, i % 2 === 0 ? 'metadata' : 'data');
      await found(event.position);
      undo();
    }
  }, 240_000);

  it('P4: a flipped bit of a text is found, and the text named', async () => {
    const chunks = cluster.log.all.filter(({ stream }) => stream.startsWith('blob-'));
    for (let i = 0; i < 6; i += 1) {
      const chunk = chunks[pick(chunks.length)] as LogEvent;
      const undo = flip(chunk, 'data');
      numbers.changes += 1;
      const report = await check();
      expect(report).toMatchObject({
        ok: false,
        finding: { at: `blob ${chunk.stream.slice('blob-'.length)}` },
      });
      numbers.caught += 1;
      undo();
    }
  }, 120_000);

  it('P4: an event that was removed is found, whatever its place in its stream', async () => {
    for (const from of [0.2, 0.5, 0.98]) {
      const event = events[Math.floor(events.length * from)] as LogEvent;
      const undo = removed(event);
      try {
        await found(event.position);
        const alone = await verified({ eventstore: cluster.directString });
        // Nothing but a checkpoint knows of the last event of a stream.
        if (event.position <= ledger.signed) expect(alone.ok).toBe(false);
        if (!alone.ok) inside(alone, event.position);
      } finally {
        undo();
      }
    }
    const undo = removed(events.at(-1) as LogEvent);
    await found(events.at(-1)?.position ?? 0);
    undo();
  }, 60_000);

  it('P4: two events in each other’s place are found', async () => {
    for (const from of [0.3, 0.97]) {
      let i = Math.floor(events.length * from);
      while (events[i]?.stream === events[i + 1]?.stream) i += 1;
      const [a, b] = [events[i] as LogEvent, events[i + 1] as LogEvent];
      const swap = (): void => {
        [a.metadata, b.metadata] = [b.metadata, a.metadata];
        [a.data, b.data] = [b.data, a.data];
      };
      swap();
      await found(a.position);
      swap();
    }
  }, 60_000);

  it('P4: without read models, what a checkpoint covers is still narrowed down', async () => {
    for (let i = 0; i < 6; i += 1) {
      const covered = events.filter(({ position }) => position <= ledger.signed);
      const event = covered[pick(covered.length)] as LogEvent;
      const undo = flip(event, 'metadata');
      numbers.changes += 1;
      const report = await verified({ eventstore: cluster.directString });
      expect(report.ok).toBe(false);
      inside(report, event.position);
      numbers.caught += 1;
      undo();
    }
    proved('a ledger in EventStoreDB', numbers, `TAMPER_SEED=${SEED}`);
  }, 60_000);
});
