import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { newEvent } from '#event-store/conformance-support.js';
import { headerText } from '#event-store/header.js';
import type { LedgerSource, StoredEvent } from '#event-store/ledger-check.js';
import { canonicalJson } from '#kernel/json.js';
import { formatCheckpoint } from '#transparency/checkpoint.js';
import { CompactRange, leafHash, type Hash } from '#transparency/merkle.js';
import { ed25519Vkey, noteSigner, signNote } from '#transparency/note.js';
import { rotationNote } from '../signing/key-chain.js';
import { originOfLog } from '../domain/origin.js';
import { checkpointStream } from '../streams.js';
import { verifyLedger, type VerifyOptions } from './verify.js';

const ORIGIN = originOfLog('test', 'w1');
const keyPair = () => generateKeyPairSync('ed25519');
type Pair = ReturnType<typeof keyPair>;
const vkeyOf = ({ publicKey }: Pair): string => ed25519Vkey(ORIGIN, publicKey);
const signerOf = (privateKey: KeyObject) => noteSigner(ORIGIN, privateKey);

/** A log of one workspace, written event by event. */
class Log {
  readonly events: StoredEvent[] = [];
  readonly #revisions = new Map<string, number>();
  readonly #tree = CompactRange.from(0, []);

  add(stream: string, type: string, data: object): this {
    const revision = (this.#revisions.get(stream) ?? -1) + 1;
    this.#revisions.set(stream, revision);
    const event = newEvent({ type, payload: canonicalJson(data) });
    const at = new Date(1_700_000_000_000 + this.events.length).toISOString();
    const header = headerText(event, stream, revision, at);
    this.#tree.append(leafHash(header));
    const position = this.events.length + 1;
    this.events.push({ position, stream, revision, header, payload: event.payload });
    return this;
  }

  some(count: number): this {
    for (let n = 0; n < count; n += 1) this.add(`topic-w1-${n}`, 'Something', { n });
    return this;
  }

  of(type: string, data: object): this {
    return this.add(checkpointStream('w1'), type, data);
  }

  opened(key: Pair, more: object = {}): this {
    return this.of('LogOpened', { origin: ORIGIN, vkey: vkeyOf(key), ...more });
  }

  signed(key: Pair, claim: { size?: number; root?: Hash } = {}): this {
    const { size = this.#tree.size, root = this.#tree.root() } = claim;
    const text = formatCheckpoint({ origin: ORIGIN, size, root });
    const note = signNote(text, [signerOf(key.privateKey)]);
    return this.of('CheckpointSigned', { size, root: Buffer.from(root).toString('base64'), note });
  }

  rotated(from: Pair, to: Pair, by = from): this {
    const note = rotationNote(ORIGIN, vkeyOf(from), vkeyOf(to), signerOf(by.privateKey));
    return this.of('LogKeyRotated', { vkey: vkeyOf(to), note });
  }

  source(): LedgerSource {
    const { events } = this;
    return {
      async *log() {
        yield events;
      },
      locate: () => Promise.resolve(undefined),
      stream: (name, from) =>
        Promise.resolve(events.filter((e) => e.stream === name && e.revision >= from).slice(0, 2)),
      async *blobs() {
        yield [];
      },
      blob: () => Promise.resolve(undefined),
      hasBlob: () => Promise.resolve(true),
    };
  }
}

const check = (log: Log, more: Partial<VerifyOptions> = {}) =>
  verifyLedger(log.source(), {
    contiguous: true,
    wholeStreams: true,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...more,
  });

describe('verifyLedger', () => {
  const [first, second, strange] = [keyPair(), keyPair(), keyPair()];

  it('P4: follows the keys of a log through rotations, and proves every checkpoint', async () => {
    const log = new Log().opened(first).some(5).signed(first).some(3).signed(first);
    log.rotated(first, second).some(4).signed(second).some(2);
    const { finding, logs } = await check(log);
    expect(finding).toBeUndefined();
    expect(logs).toMatchObject([
      { origin: ORIGIN, checkpoints: 3, vkeys: [vkeyOf(first), vkeyOf(second)], unsigned: 2 },
    ]);
    const trusted = new Set([vkeyOf(first), vkeyOf(second)]);
    expect((await check(log, { trusted })).finding).toBeUndefined();
    expect((await check(log, { trusted: new Set([vkeyOf(first)]) })).finding).toBeUndefined();
    const late = await check(log, { trusted: new Set([vkeyOf(second)]) });
    expect(late.finding).toMatchObject({ found: vkeyOf(first) });
  });

  it('P4: a lost key that was replaced is followed, and refused by who does not trust the new one', async () => {
    const log = new Log().opened(first).some(2).signed(first);
    log
      .opened(second, { replaces: vkeyOf(first), reason: 'lost' })
      .some(1)
      .signed(second);
    expect((await check(log)).finding).toBeUndefined();
    const { finding } = await check(log, { trusted: new Set([vkeyOf(first)]) });
    expect(finding).toMatchObject({ at: 'position 7' });
  });

  const forged: [string, (log: Log) => Log, object][] = [
    [
      'a former key that signs on',
      (log) => log.rotated(first, second).some(1).signed(first),
      { at: 'position 11' },
    ],
    ['a strange key', (log) => log.some(1).signed(strange), { at: 'position 10' }],
    [
      'a rotation that the former key did not sign',
      (log) => log.rotated(first, strange, strange),
      { at: 'position 9' },
    ],
    [
      'a log that is opened anew',
      (log) => log.opened(strange),
      { at: 'position 9', found: 'no key that it replaces' },
    ],
    [
      'a size that was signed before',
      (log) => log.some(1).signed(first, { size: 6 }),
      { at: 'position 10', found: '6' },
    ],
  ];
  it('P4: an event of the checkpoints that is no longer one is found at its position', async () => {
    for (const [from, to] of [
      ['"workspace":"w1"', '"workspace":"w2"'],
      ['"LogOpened"', '"LogOpeneD"'],
    ] as const) {
      const log = new Log().some(3).opened(first).some(2).signed(first);
      const opened = log.events[3] as StoredEvent;
      log.events[3] = { ...opened, header: opened.header.replace(from, to) };
      expect((await check(log)).finding).toMatchObject({ first: 4, last: 4 });
    }
  });

  it.each(forged)('P4: %s is found at its position', async (_, forge, expected) => {
    const log = forge(new Log().opened(first).some(6).signed(first));
    expect((await check(log)).finding).toMatchObject(expected);
  });

  it('P4: a root that no tree of the log has is narrowed down to what lies between two checkpoints', async () => {
    const log = new Log().opened(first).some(6).signed(first).some(3);
    log.signed(first, { root: leafHash('another') });
    expect((await check(log)).finding).toMatchObject({
      at: 'positions 8–11',
      what: 'signed root',
      first: 8,
      last: 11,
    });
  });

  it('P4: what a checkpoint signs and the log does not have is narrowed down to what lies before it', async () => {
    const log = new Log().opened(first).some(6).signed(first).some(1).signed(first, { size: 40 });
    expect((await check(log)).finding).toMatchObject({
      at: 'positions 8–10',
      expected: '40',
      found: '9',
    });
    // Of another workspace, an event is missing from its own.
    const moved = new Log().opened(first).some(6).signed(first).some(3).signed(first).some(2);
    const { header = '' } = moved.events[9] ?? {};
    const event = {
      ...moved.events[9],
      header: header.replace('"workspace":"w1"', '"workspace":"w2"'),
    };
    moved.events[9] = event as StoredEvent;
    expect((await check(moved)).finding).toMatchObject({ first: 8, last: 12 });
  });

  it('P4: of a change and later damage the change is named', async () => {
    const log = new Log().opened(first).some(6).signed(first).some(5).signed(first).some(3);
    const change = (position: number, by: (event: StoredEvent) => StoredEvent): void => {
      log.events[position - 1] = by(log.events[position - 1] as StoredEvent);
    };
    change(10, (e) => ({ ...e, header: e.header.replace('"ann"', '"eve"') }));
    change(16, (e) => ({ ...e, payload: '{}' }));
    expect((await check(log)).finding).toMatchObject({ first: 8, last: 13 });
  });

  it('P9: a receipt and a checkpoint that were kept elsewhere pin the log down', async () => {
    const log = new Log().opened(first).some(6).signed(first).some(2);
    const leaf = Buffer.from(leafHash(log.events[4]?.header ?? '')).toString('hex');
    const pin = (index: number, hash: string) =>
      new Map([
        [ORIGIN.slice('test/'.length), [{ kind: 'leaf', from: 'r.json', index, hash } as const]],
      ]);
    expect(await check(log, { pins: pin(4, leaf) })).toMatchObject({ finding: undefined, pins: 1 });
    expect((await check(log, { pins: pin(3, leaf) })).finding).toMatchObject({ at: 'position 4' });
    expect((await check(log, { pins: pin(30, leaf) })).finding).toMatchObject({
      expected: '31 or more',
      found: '10',
    });
  });
});
