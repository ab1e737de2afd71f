import { expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import { collect, log, newEvent, refusal, type LedgerUnderTest } from './conformance-support.js';
import { LIMITS, NO_STREAM, WrongExpectedRevision } from './event-store.js';
import type { EventStore, NewEvent } from './event-store.js';

export function describeAppend(ledger: () => LedgerUnderTest): void {
  it('an empty ledger ends at 0 and a stream that does not exist has no events', async () => {
    const { store } = ledger();
    expect(await store.end()).toBe(0);
    expect(await collect(store.readStream('topic-w1-none'))).toEqual([]);
    expect(await log(store)).toEqual([]);
  });

  it('stores an append whole, in order, with every field', async () => {
    const { store, clock } = ledger();
    const events = [newEvent({ payload: '{"n":1}' }), newEvent({ payload: '{"n":2}', version: 3 })];
    const appended = await store.append('topic-w1-a', NO_STREAM, events);
    const recordedAt = new Date(clock.now).toISOString();
    expect(appended).toMatchObject({ revision: 1, recordedAt, replayed: false });
    const stored = await collect(store.readStream('topic-w1-a'));
    expect(stored).toHaveLength(2);
    for (const [i, event] of events.entries())
      expect(stored[i]).toMatchObject({ ...event, stream: 'topic-w1-a', revision: i, recordedAt });
    expect(stored[1]?.position).toBe(appended.position);
    expect(await store.end()).toBe(appended.position);
    expect(await log(store)).toEqual(stored);
    expect(await collect(store.readStream('topic-w1-a', 1))).toEqual(stored.slice(1));
    expect(await collect(store.readStream('topic-w1-a', 2))).toEqual([]);
  });

  it('positions rise along the log, across streams', async () => {
    const { store } = ledger();
    const given: number[] = [];
    for (let i = 0; i < 30; i++)
      given.push((await store.append(`s${i % 3}`, Math.floor(i / 3) - 1, [newEvent()])).position);
    expect(given).toEqual([...given].sort((a, b) => a - b));
    expect((await log(store)).map((e) => e.position)).toEqual(given);
  });

  it('B01: refuses an append whose expected revision is not the head, naming both', async () => {
    const { store } = ledger();
    await store.append('s', NO_STREAM, [newEvent()]);
    for (const wrong of [NO_STREAM, 1, 7]) {
      const error = await store.append('s', wrong, [newEvent()]).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(WrongExpectedRevision);
      expect(error).toMatchObject({ stream: 's', expected: wrong, actual: 0 });
    }
    const missing = store.append('other', 0, [newEvent()]);
    await expect(missing).rejects.toMatchObject({ expected: 0, actual: NO_STREAM });
    expect(await log(store)).toHaveLength(1);
  });

  it('B01: there is no "any" revision: anything but −1 or a revision is a defect', async () => {
    const { store } = ledger();
    for (const any of [-2, NaN, 1.5, Infinity])
      await expect(store.append('s', any, [newEvent()])).rejects.toThrow('no revision to expect');
    await expect(store.append('s', NO_STREAM, [])).rejects.toThrow('without events');
    expect(await store.end()).toBe(0);
  });

  it('B22: recorded time never decreases when the clock is set back, nor over a reopening', async () => {
    const l = ledger();
    const start = l.clock.now;
    const times: string[] = [];
    for (const [i, shift] of [0, 5, -3_600_000, -400 * 86_400_000, 6].entries()) {
      l.clock.now = start + shift;
      times.push((await l.store.append('s', i - 1, [newEvent()])).recordedAt);
      if (i === 2) await l.reopen();
    }
    const at = (ms: number) => new Date(start + ms).toISOString();
    expect(times).toEqual([at(0), at(5), at(5), at(5), at(6)]);
    expect((await log(l.store)).map((e) => e.recordedAt)).toEqual(times);
  });

  it('closing twice is allowed; a closed store refuses writes and ends its followers', async () => {
    const { store } = ledger();
    const signal = new AbortController().signal;
    const following = collect(store.follow(0, { signal, live: true }));
    await store.append('s', NO_STREAM, [newEvent()]);
    await store.close();
    await store.close();
    expect((await following).length).toBeLessThanOrEqual(1);
    expect((await refusal(store.append('s', 0, [newEvent()]))).error).toBe('store_closed');
  });
}

export function describeRetry(ledger: () => LedgerUnderTest): void {
  const many = async (store: EventStore, count: number) => {
    for (let i = 0; i < count; i += 500)
      await store.append(
        'noise',
        i - 1,
        Array.from({ length: 500 }, () => newEvent()),
      );
  };

  it('P7 B01: the same append sent again, at once, later, after 10,000 events and a reopening, is stored once', async () => {
    const l = ledger();
    const events = [newEvent(), newEvent()];
    const send = () => l.store.append('s', NO_STREAM, events);
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    expect(answers.filter((a) => !a.replayed)).toHaveLength(1);
    await l.store.append('s', 1, [newEvent()]);
    await many(l.store, 10_000);
    l.clock.now += 60_000;
    answers.push(...(await Promise.all(Array.from({ length: 50 }, send))));
    await l.reopen();
    answers.push(await send());
    const first = { ...answers[0], replayed: true };
    for (const answer of answers) expect({ ...answer, replayed: true }).toEqual(first);
    expect(answers.filter((a) => a.replayed)).toHaveLength(100);
    const ids = (await log(l.store)).map((e) => e.id);
    for (const { id } of events) expect(ids.filter((i) => i === id)).toHaveLength(1);
  });

  it('B02: the same id with another payload is refused and names the stored hash', async () => {
    const { store } = ledger();
    const event = newEvent({ payload: '"net 30"' });
    await store.append('s', NO_STREAM, [event]);
    await store.append('s', 0, [newEvent()]);
    const changed = { ...event, payload: '"net 60"' };
    const error = await refusal(store.append('s', NO_STREAM, [changed]));
    expect(error).toMatchObject({ kind: 'key_reused', error: 'request_id_conflict' });
    expect(error.message).toContain(sha256('"net 30"'));
    expect((await collect(store.readStream('s')))[0]?.payload).toBe('"net 30"');
    expect(await log(store)).toHaveLength(2);
  });

  it('B01: a part of an append, or more than it, is no retry', async () => {
    const { store } = ledger();
    const [a, b, c] = [newEvent(), newEvent(), newEvent()];
    await store.append('s', NO_STREAM, [a, b]);
    for (const other of [[a, b, c], [b, a], [c]])
      await expect(store.append('s', NO_STREAM, other)).rejects.toThrow(WrongExpectedRevision);
  });

  it('B04: the same id in another stream is another event, also after a reopening', async () => {
    const l = ledger();
    const event = newEvent();
    for (const stream of ['topic-t1-a', 'topic-t2-a', 'topic-t1-b'])
      expect((await l.store.append(stream, NO_STREAM, [event])).replayed).toBe(false);
    await l.reopen();
    for (const stream of ['topic-t1-a', 'topic-t2-a', 'topic-t1-b'])
      expect((await l.store.append(stream, NO_STREAM, [event])).replayed).toBe(true);
    expect(await log(l.store)).toHaveLength(3);
  });
}

export function describeLimits(ledger: () => LedgerUnderTest): void {
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

  it('refuses what is over a limit before any write, and takes what is at the limit', async () => {
    const { store } = ledger();
    const refusals: [string, string, NewEvent[]][] = [
      ['event_too_large', 's', [newEvent({ payload: text(LIMITS.payloadBytes + 1) })]],
      ['event_too_large', 's', [newEvent({ payload: `"${'é'.repeat(LIMITS.payloadBytes / 2)}"` })]],
      [
        'event_too_large',
        's',
        [newEvent({ payload: text(500_000) }), newEvent({ payload: text(500_000) })],
      ],
      ['event_too_large', 'x'.repeat(LIMITS.streamName + 1), [newEvent()]],
      [
        'too_many_events',
        's',
        Array.from({ length: LIMITS.eventsPerAppend + 1 }, () => newEvent()),
      ],
    ];
    for (const [error, stream, events] of refusals) {
      const refused = await refusal(store.append(stream, NO_STREAM, events));
      expect(refused).toMatchObject({ kind: 'too_large', error });
      expect(refused.message).toMatch(/the limit is [\d,]+/);
    }
    expect(await store.end()).toBe(0);
    const longest = 'x'.repeat(LIMITS.streamName);
    await store.append(longest, NO_STREAM, [newEvent({ payload: text(LIMITS.payloadBytes) })]);
    const most = Array.from({ length: LIMITS.eventsPerAppend }, () => newEvent());
    await store.append(longest, 0, most);
    expect(await collect(store.readStream(longest))).toHaveLength(1 + LIMITS.eventsPerAppend);
  });

  it('B45: refuses half of a surrogate pair anywhere, which has no UTF-8 bytes', async () => {
    const { store } = ledger();
    const half = '\ud800';
    const changes = [{ payload: `"${half}"` }, { type: half }, { causation: half }];
    for (const change of changes)
      expect((await refusal(store.append('s', NO_STREAM, [newEvent(change)]))).kind).toBe(
        'invalid',
      );
    expect((await refusal(store.append(half, NO_STREAM, [newEvent()]))).kind).toBe('invalid');
    expect(await store.end()).toBe(0);
  });
}
