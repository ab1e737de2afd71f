import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { describeConcurrency } from './conformance-concurrency.js';
import { collect, log, newEvent, type LedgerUnderTest } from './conformance-support.js';
import { describeAppend, describeLimits, describeRetry } from './conformance-writing.js';
import { NO_STREAM } from './event-store.js';
import type { EventStore, RecordedEvent } from './event-store.js';

export type { LedgerUnderTest } from './conformance-support.js';

export interface ConformanceOptions {
  /** Events that the concurrency tests append; 20,000 unless the engine is slow. */
  events?: number;
}

/** What every engine promises of `EventStore` and `BlobStore`. */
export function describeEventStore(
  name: string,
  open: () => Promise<LedgerUnderTest>,
  options: ConformanceOptions = {},
): void {
  describe(`event store: ${name}`, () => {
    let ledger: LedgerUnderTest;
    beforeEach(async () => {
      ledger = await open();
    });
    afterEach(() => ledger.dispose());
    const current = () => ledger;
    describeAppend(current);
    describeRetry(current);
    describeLimits(current);
    describeBytes(current);
    describeFollow(current);
    describeConcurrency(current, options.events ?? 20_000);
  });
}

function describeBytes(ledger: () => LedgerUnderTest): void {
  it('B45: payload and header come back byte for byte, whatever the JSON, and hash as documented', async () => {
    const l = ledger();
    const names = fc.oneof(fc.constantFrom('__proto__', '10', '9', '', 'ö', '\u2028'), fc.string());
    const value = fc.letrec((tie) => ({
      any: fc.oneof(fc.jsonValue(), fc.dictionary(names, tie('any'), { maxKeys: 5 })),
    })).any;
    const sent: string[] = [];
    await fc.assert(
      fc.asyncProperty(value, fc.string({ unit: 'grapheme' }), async (payload, principal) => {
        let text: string;
        try {
          text = canonicalJson(payload);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
          return;
        }
        const actor = { principal, kind: 'agent' as const, credential: null };
        await l.store.append('json', sent.length - 1, [newEvent({ payload: text, actor })]);
        sent.push(text);
      }),
      { numRuns: 200 },
    );
    await l.reopen();
    const stored = await collect(l.store.readStream('json'));
    expect(stored.map((e) => e.payload)).toEqual(sent);
    for (const { header, payload, ...event } of stored) {
      const parsed = JSON.parse(header) as Record<string, unknown>;
      expect(canonicalize(parsed)).toBe(header);
      expect(parsed['payload_sha256']).toBe(
        createHash('sha256').update(payload, 'utf8').digest('hex'),
      );
      expect(parsed).toMatchObject({ stream: 'json', revision: event.revision, id: event.id });
      expect(canonicalize(JSON.parse(payload))).toBe(payload);
    }
  });

  it('keeps blobs by hash, once, over a reopening; bytes that do not fit their hash are a defect', async () => {
    const l = ledger();
    const blobs = [
      new Uint8Array(0),
      new Uint8Array([0, 255, 1]),
      Buffer.from('grüezi'.repeat(99)),
    ].map((bytes) => ({ hash: sha256(bytes), bytes }));
    await l.store.putBlobs([]);
    await Promise.all([l.store.putBlobs(blobs), l.store.putBlobs(blobs.slice(1))]);
    await expect(
      l.store.putBlobs([{ hash: sha256('a'), bytes: Buffer.from('b') }]),
    ).rejects.toThrow('other bytes');
    await l.reopen();
    for (const { hash, bytes } of blobs) {
      const found = await l.store.getBlob(hash);
      expect(found && Buffer.compare(found, bytes)).toBe(0);
    }
    expect(await l.store.getBlob(sha256('a'))).toBeUndefined();
    expect(await l.store.end()).toBe(0);
  });
}

function describeFollow(ledger: () => LedgerUnderTest): void {
  const fill = async (store: EventStore, count: number) => {
    await store.append(
      's',
      NO_STREAM,
      Array.from({ length: count }, () => newEvent()),
    );
    return (await log(store)).map((e) => e.position);
  };

  it('not live: delivers from the checkpoint on, in batches of at most the size asked for, and ends', async () => {
    const { store } = ledger();
    const positions = await fill(store, 25);
    const signal = new AbortController().signal;
    const sizes: number[] = [];
    const seen: number[] = [];
    for await (const batch of store.follow(positions[4] ?? 0, { signal, live: false, batch: 7 })) {
      sizes.push(batch.length);
      seen.push(...batch.map((e) => e.position));
    }
    expect(seen).toEqual(positions.slice(5));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(7);
  });

  it('live: waits at the end and is woken by a commit; an abort ends a pending wait', async () => {
    const { store } = ledger();
    const positions = await fill(store, 3);
    const stop = new AbortController();
    const following = store.follow(0, { signal: stop.signal, live: true })[Symbol.asyncIterator]();
    const first = await following.next();
    expect(first.value?.map((e: RecordedEvent) => e.position)).toEqual(positions);
    const next = following.next();
    const { position } = await store.append('t', NO_STREAM, [newEvent()]);
    expect((await next).value?.map((e: RecordedEvent) => e.position)).toEqual([position]);
    const last = following.next();
    stop.abort();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  it('an abort before the start delivers nothing', async () => {
    const { store } = ledger();
    await fill(store, 3);
    expect(await log(store, 0, { signal: AbortSignal.abort(), live: true })).toEqual([]);
  });
}
