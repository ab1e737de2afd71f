import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { sha256 } from '#kernel/json.js';
import { newEvent } from './conformance-support.js';
import { LIMITS } from './event-store.js';
import { headerText } from './header.js';
import { checkLedger, LedgerDamage, MARK_EVENTS } from './ledger-check.js';
import type {
  CheckOptions,
  Checked,
  LedgerSource,
  StoredBlob,
  StoredEvent,
} from './ledger-check.js';

const at = (n: number): string => new Date(1_700_000_000_000 + n).toISOString();

function stored(position: number, stream: string, revision: number, time = position): StoredEvent {
  const event = newEvent({ payload: `{"n":${position}}` });
  return {
    position,
    stream,
    revision,
    header: headerText(event, stream, revision, at(time)),
    payload: event.payload,
  };
}

/** `count` events in streams that take turns, each with as many revisions. */
function ledger(count: number, streams: number): StoredEvent[] {
  return Array.from({ length: count }, (_, i) =>
    stored(i + 1, `s-${i % streams}`, Math.floor(i / streams)),
  );
}

function sourceOf(events: readonly StoredEvent[], blobs: readonly StoredBlob[] = []): LedgerSource {
  const index = new Map(events.map((e) => [`${e.stream} ${e.revision}`, e.position]));
  return {
    async *log() {
      for (let i = 0; i < events.length; i += 100) yield events.slice(i, i + 100);
    },
    locate: (stream, revision) => Promise.resolve(index.get(`${stream} ${revision}`)),
    stream: (name, from) =>
      Promise.resolve(events.filter((e) => e.stream === name && e.revision >= from)),
    async *blobs() {
      yield blobs;
    },
    blob: (hash) => Promise.resolve(blobs.find((b) => b.hash === hash)?.bytes),
    hasBlob: (hash) => Promise.resolve(blobs.some((b) => b.hash === hash)),
  };
}

const check = (
  events: readonly StoredEvent[],
  more: Partial<CheckOptions> = {},
): Promise<Checked> => checkLedger(sourceOf(events), { contiguous: true, ...more });

async function finding(work: Promise<unknown>): Promise<object> {
  const error: unknown = await work.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(LedgerDamage);
  return (error as LedgerDamage).finding;
}

/** The event with another header, whose payload still fits. */
function withHeader(event: StoredEvent, change: (text: string) => string): StoredEvent {
  return { ...event, header: change(event.header) };
}

describe('checkLedger', () => {
  it('P4: says what a whole ledger holds, with a digest that other tools can make', async () => {
    const events = ledger(250, 7);
    const bytes = new TextEncoder().encode('text');
    const source = sourceOf(events, [{ hash: sha256(bytes), bytes }]);
    const seen: number[] = [];
    const { coverage } = await checkLedger(source, {
      contiguous: true,
      onProgress: (n) => seen.push(n),
    });
    const digest = createHash('sha256');
    for (const { header } of events) digest.update(`${header}\n`);
    expect(coverage).toEqual({
      events: 250,
      last_position: 250,
      last_recorded_at: at(250),
      headers_sha256: digest.digest('hex'),
      blobs: 1,
    });
    expect(seen).toEqual([100, 200, 250, 251]);
  });

  it('P4: an empty ledger is whole', async () => {
    const { coverage } = await check([]);
    expect(coverage).toMatchObject({ events: 0, last_position: 0, last_recorded_at: null });
  });

  it('P4: gaps between positions are damage only where the engine leaves none', async () => {
    const events = ledger(10, 2).map((e) => ({ ...e, position: e.position * 3 }));
    expect(await finding(check(events))).toMatchObject({
      at: 'position 1',
      expected: '1',
      found: '3',
    });
    const { coverage } = await check(events, { contiguous: false });
    expect(coverage).toMatchObject({ events: 10, last_position: 30 });
  });

  const whole = ledger(60, 3);
  const changed = (i: number, event: StoredEvent) => whole.with(i, event);
  const e20 = whole[20]!;
  const damaged: [string, StoredEvent[], object][] = [
    [
      'a changed payload',
      changed(20, { ...e20, payload: '{"n":0}' }),
      { at: 'position 21', what: 'payload_sha256', found: sha256('{"n":0}') },
    ],
    ['a removed event', whole.toSpliced(20, 1), { at: 'position 21', expected: '21', found: '22' }],
    ['a removed first event', whole.slice(1), { at: 'position 1', expected: '1', found: '2' }],
    [
      'an inserted event',
      whole.toSpliced(20, 0, stored(21, 'other', 0)),
      { at: 'position 22', found: '21' },
    ],
    [
      'two events in each other’s place',
      changed(20, { ...whole[23]!, position: 21 }).with(23, { ...e20, position: 24 }),
      { at: 'position 21', what: 'revision of s-2', expected: '6', found: '7' },
    ],
    [
      'a position below the first',
      [{ ...whole[0]!, position: 0 }],
      { at: 'position 1', found: '0' },
    ],
    [
      'a header of another stream than the index says',
      changed(20, { ...e20, stream: 's-1' }),
      { at: 'position 21', what: 'stream in the index', expected: 's-2', found: 's-1' },
    ],
    [
      'a header of another revision than the index says',
      changed(20, { ...e20, revision: 9 }),
      { at: 'position 21', what: 'revision in the index', expected: '6', found: '9' },
    ],
    [
      'a header that is no JSON',
      changed(
        20,
        withHeader(e20, (text) => text.slice(1)),
      ),
      { at: 'position 21', what: 'header' },
    ],
    [
      'a header without a member',
      changed(
        20,
        withHeader(e20, (text) => text.replace('"workspace"', '"workspade"')),
      ),
      { at: 'position 21', what: 'header' },
    ],
    [
      'a header that is no UTF-8',
      changed(20, { ...e20, unreadable: 'header' }),
      { at: 'position 21', what: 'header' },
    ],
  ];
  it.each(damaged)('P4: names the position of %s', async (_, events, expected) => {
    expect(await finding(check(events))).toMatchObject(expected);
  });

  it('P4: names the position of a sealed text that was moved to another event, its hash made anew', async () => {
    const token = `sealed:1:main:k_0:${'0'.repeat(8)}:statement:iv:text`;
    const event = newEvent({ payload: `{"statement":"${token}"}` });
    const header = headerText(event, 's-0', 0, at(1));
    const moved = { position: 1, stream: 's-0', revision: 0, header, payload: event.payload };
    expect(await finding(check([moved]))).toMatchObject({
      at: 'position 1',
      what: 'place of a sealed text',
      found: `main:${'0'.repeat(8)}`,
    });
  });

  it('P4: names a blob of other bytes', async () => {
    const bytes = new TextEncoder().encode('text');
    const source = sourceOf([], [{ hash: sha256('tex'), bytes }]);
    expect(await finding(checkLedger(source, { contiguous: true }))).toEqual({
      at: `blob ${sha256('tex')}`,
      what: 'SHA-256',
      expected: sha256('tex'),
      found: sha256(bytes),
    });
  });

  it('P4: a header whose words changed is found by the mark after it, and at the latest by the digest', async () => {
    const events = ledger(2 * MARK_EVENTS + 50, 40);
    const expected = await check(events);
    expect(await check(events, { expected })).toEqual(expected);
    const other = (i: number) =>
      events.with(
        i,
        withHeader(events[i]!, (text) => text.replace('"ann"', '"eve"')),
      );
    expect(await finding(check(other(1_500), { expected }))).toMatchObject({
      at: 'position 2000',
      what: 'headers_sha256 up to here (right up to event 1000)',
    });
    expect(await finding(check(other(2_010), { expected }))).toMatchObject({
      what: 'headers_sha256',
      expected: expected.coverage.headers_sha256,
    });
    expect(await finding(check(events.slice(0, -1), { expected }))).toMatchObject({
      what: 'events',
      expected: '2050',
      found: '2049',
    });
  });

  it('P4: more streams than memory holds are checked with the index', async () => {
    const heads = 8;
    const events = ledger(900, 90);
    expect(await check(events, { heads })).toEqual(await check(events));
    const again = [...events, stored(901, 's-5', 0)];
    // The index has one place for it, the second; the next event of the stream does not follow that.
    expect(await finding(check(again, { heads }))).toMatchObject({ at: 'position 96' });
    const skipped = [...events, stored(901, 's-5', 11)];
    expect(await finding(check(skipped, { heads }))).toMatchObject({
      at: 'position 901',
      what: 'revision 10 of s-5',
      found: 'nowhere',
    });
    // Of two events in each other's place the earlier one is met first.
    const [a, b] = [events[405]!, events[495]!];
    const swapped = events
      .with(405, { ...b, position: a.position })
      .with(495, { ...a, position: b.position });
    expect(await finding(check(swapped, { heads }))).toMatchObject({ at: 'position 406' });
  });

  it('P4: of streams with long names fewer are remembered, and the index is asked sooner', async () => {
    const events = Array.from({ length: 26_000 }, (_, i) =>
      stored(i + 1, `${i}-`.padEnd(LIMITS.streamName, 'x'), 0),
    );
    const source = sourceOf(events);
    let asked = 0;
    const locate: LedgerSource['locate'] = (stream, revision) => {
      asked += 1;
      return source.locate(stream, revision);
    };
    await checkLedger({ ...source, locate }, { contiguous: true });
    // Two halves of 5 million characters were seen by then.
    expect(asked).toBe(26_000 - 2 * 12_500);
  });

  it('ends when it is told to', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(check(whole, { signal })).rejects.toThrow('enough');
  });
});
