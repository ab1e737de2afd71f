import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, sha256 } from '#kernel/json.js';
import type { NewEvent } from './event-store.js';
import { LIMITS } from './event-store.js';
import { headerText, monotonic, prepareAppend, recordedEvent } from './header.js';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const event: fc.Arbitrary<NewEvent> = fc.record({
  id: fc.uuid(),
  type: text,
  version: fc.integer({ min: 1, max: 99 }),
  workspace: text,
  actor: fc.record({
    principal: text,
    kind: fc.constantFrom('person', 'agent', 'service', 'system'),
    credential: fc.option(text),
  }),
  causation: text,
  correlation: text,
  payload: text.map((t) => JSON.stringify(t)),
});

describe('event header', () => {
  it('P4 B45: is the canonical JSON of its members, whatever their text', () => {
    fc.assert(
      fc.property(
        event,
        text,
        fc.nat(),
        fc.date({ noInvalidDate: true }),
        (e, stream, revision, at) => {
          const recordedAt = at.toISOString();
          const { payload, ...members } = e;
          expect(headerText(e, stream, revision, recordedAt)).toBe(
            canonicalJson({
              ...members,
              payload_sha256: sha256(payload),
              recorded_at: recordedAt,
              revision,
              stream,
            }),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reads back as the event it was made of', () => {
    fc.assert(
      fc.property(event, text, fc.nat(), (e, stream, revision) => {
        const recordedAt = '2026-01-31T09:00:00.000Z';
        const header = headerText(e, stream, revision, recordedAt);
        const read = recordedEvent(7, header, e.payload);
        expect(read).toEqual({ ...e, position: 7, stream, revision, recordedAt, header });
      }),
    );
  });

  it('refuses a header that no entry bundle of a log can hold, before anything is written', () => {
    const plain: NewEvent = {
      id: '00000000-0000-4000-8000-000000000001',
      type: 'Said',
      version: 1,
      workspace: 'w',
      actor: { principal: 'ann', kind: 'person', credential: null },
      causation: '',
      correlation: 'c',
      payload: '{}',
    };
    const at = '2026-01-31T09:00:00.000Z';
    const room = LIMITS.headerBytes - Buffer.byteLength(headerText(plain, 's', 0, at));
    const sized = (length: number) => [{ ...plain, causation: 'x'.repeat(length) }];
    expect(Buffer.byteLength(prepareAppend('s', -1, sized(room), at).headers[0] ?? '')).toBe(
      65_535,
    );
    expect(() => prepareAppend('s', -1, sized(room + 1), at)).toThrow(
      'events[0]: 65536 bytes in one header; the limit is 65535',
    );
  });

  it('B22: the recorded time follows the clock forwards and never backwards', () => {
    const times = [1_000, 999, 1_001, 5];
    const now = monotonic(() => times.shift() ?? 0, new Date(1_000).toISOString());
    const seconds = [now(), now(), now(), now()].map((t) => Date.parse(t));
    expect(seconds).toEqual([1_000, 1_000, 1_001, 1_001]);
  });
});
