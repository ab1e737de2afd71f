import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newEvent } from '#event-store/conformance-support.js';
import type { EventStore } from '#event-store/event-store.js';
import { openEventStoreDb } from '#event-store/eventstoredb.js';
import { openSqliteReader, openSqliteStore } from '#event-store/sqlite.js';
import { canonicalJson, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { TestApplication } from '../support/application.js';
import { verified } from '../support/audit-ledger.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';

const scratch = mkdtempSync(join(tmpdir(), 'precedent-alarm-'));
const numbers = { verified: 0, 'false alarms': 0 };
afterAll(() => {
  proved('ledgers that are whole', numbers);
  rmSync(scratch, { recursive: true, force: true });
});

async function whole(...[source, options]: Parameters<typeof verified>) {
  const report = await verified(source, options);
  numbers.verified += 1;
  if (!report.ok) numbers['false alarms'] += 1;
  expect(report.finding).toBeUndefined();
  return report;
}

const WRITERS = 8;

/** 500 events from eight writers, each with streams of its own, in three workspaces, all within one millisecond. */
async function write(store: EventStore): Promise<void> {
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; n < 500 / WRITERS; n += 1) {
        const stream = `topic-w${writer % 3}-${writer}-${n % 5}`;
        const event = newEvent({
          workspace: `w${writer % 3}`,
          payload: `{"n":${n},"writer":${writer}}`,
        });
        await store.append(stream, Math.floor(n / 5) - 1, [event]);
      }
    }),
  );
}

interface Independent {
  events: number;
  roots: Record<string, string>;
  wrong: number[];
}

function independently(dir: string): Independent {
  const script = resolve('test/support/independent-verify.mjs');
  const out = execFileSync(process.execPath, ['--no-warnings', script, join(dir, 'ledger.sqlite')]);
  return JSON.parse(out.toString()) as Independent;
}

describe('a ledger that is whole', () => {
  it('P4 B45: 500 events of one millisecond from eight writers are proved, on both engines', async () => {
    const dir = join(scratch, 'burst');
    const store = await openSqliteStore(dir, { clock: () => 1_700_000_000_000 });
    await write(store);
    await store.close();
    const report = await whole({ data: dir });
    expect(report.checked.events).toBe(8 * 63);
    const alone = independently(dir);
    expect(alone.wrong).toEqual([]);
    expect(Object.fromEntries(report.logs.map(({ workspace, root }) => [workspace, root]))).toEqual(
      alone.roots,
    );
    const cluster = await TestEventStoreDb.start();
    const shared = await openEventStoreDb(cluster.connectionString, {
      clock: () => 1_700_000_000_000,
    });
    await write(shared);
    await shared.close();
    expect((await whole({ eventstore: cluster.directString })).checked.events).toBe(8 * 63);
    await cluster.stop();
  }, 120_000);

  it('B45: what JSON can carry is stored as it was hashed and proved by a stranger; what it cannot is refused', async () => {
    const dir = join(scratch, 'payloads');
    let store = await openSqliteStore(dir, { clock: Date.now });
    const strange = fc.oneof(
      fc.constantFrom<unknown>(
        undefined,
        NaN,
        Infinity,
        -0,
        1e21,
        2 ** 53,
        '\ud800',
        'a\udc00b',
        '\ufffd',
        '\u0000',
        new Date(0),
      ),
      fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as unknown),
      fc.string({ unit: 'binary' }),
    );
    const value = fc.oneof(
      strange,
      fc.array(strange, { maxLength: 5 }),
      fc.dictionary(
        fc.constantFrom('__proto__', '10', '9', 'a', 'é', '\ufffd', 'constructor'),
        strange,
      ),
    );
    const counts = { stored: 0, refused: 0 };
    const stored: string[] = [];
    for (const one of fc.sample(value, { numRuns: 600, seed: 45 })) {
      let payload: string;
      try {
        payload = canonicalJson(one);
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        counts.refused += 1;
        continue;
      }
      const event = newEvent({ payload, workspace: `w${counts.stored % 2}` });
      await store.append('topic-strange', counts.stored - 1, [event]);
      stored.push(payload);
      counts.stored += 1;
    }
    await store.close();
    store = await openSqliteStore(dir, { clock: Date.now });
    await store.close();
    const alone = independently(dir);
    expect(alone).toMatchObject({ events: counts.stored, wrong: [] });
    const report = await whole({ data: dir });
    expect(Object.fromEntries(report.logs.map(({ workspace, root }) => [workspace, root]))).toEqual(
      alone.roots,
    );
    const reader = openSqliteReader(dir);
    const read: string[] = [];
    for await (const batch of reader.follow(0, {
      signal: new AbortController().signal,
      live: false,
    }))
      read.push(...batch.map(({ payload }) => payload));
    await reader.close();
    expect(read.map(sha256)).toEqual(stored.map(sha256));
    expect(Math.min(counts.stored, counts.refused)).toBeGreaterThan(50);
    proved('payloads of any shape, checked by a script of its own', counts);
  }, 120_000);

  it('P4: verify in a loop while eight writers append never raises an alarm', async () => {
    const dir = join(scratch, 'live');
    const server = await TestApplication.start({
      PRECEDENT_EVENTSTORE: 'sqlite:',
      PRECEDENT_DATA: dir,
      PRECEDENT_CHECKPOINT_SECONDS: '1',
    });
    const stop = new AbortController();
    let written = 0;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; !stop.signal.aborted; n += 1) {
        const text = `# Use thing ${writer} ${n}\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use thing ${writer}-${n}.\n`;
        await server.ingest({
          documents: [{ path: `${writer}/${n}.md`, text }],
          collection: `writer-${writer}`,
        });
        written += 1;
      }
    });
    const sizes = new Set<number>();
    try {
      // Long enough for several checkpoints, which are signed once a second at most.
      const enough = performance.now() + 4_000;
      for (let round = 0; round < 12 || performance.now() < enough; round += 1) {
        const { checked } = await whole({ data: dir });
        sizes.add(checked.events);
      }
    } finally {
      stop.abort();
      await Promise.all(writers);
      await server.close();
    }
    const { checked } = await whole({ data: dir });
    expect(checked.checkpoints).toBeGreaterThan(1);
    expect(sizes.size).toBeGreaterThan(6);
    expect(written).toBeGreaterThan(WRITERS);
    expect(readFileSync(join(dir, 'log-keys.txt'), 'utf8')).toContain('precedent/');
  }, 180_000);
});
