import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import {
  erasureId,
  holdId,
  keysOf,
  REQUEST_VALID_MS,
  subjectDecider,
  type SubjectCommand,
} from './subject.js';
import type { SubjectEvent } from './subject.events.js';

const given = specification(subjectDecider);
const key = 'k_0123456789abcdef01234567';
const touched = { sources: 2, decisions: 1, answers: 0, jobs: 1, others: 0 };
const sources = ['src_1', 'src_2'];
const grounds = { reason: 'requested', reference: 'DSAR-7' } as const;

function erase(more: Partial<Extract<SubjectCommand, { type: 'Erase' }>> = {}): SubjectCommand {
  return {
    type: 'Erase',
    erasure: 'era_1',
    key,
    grounds,
    touched,
    sources,
    by: 'ada',
    fourEyes: false,
    nowMs: 1,
    ...more,
  };
}

const erased = {
  type: 'SubjectErased',
  data: { erasure: 'era_1', key, ...grounds, touched, sources },
} satisfies SubjectEvent;
const placed = (hold: string, matter: string): SubjectEvent => ({
  type: 'LegalHoldPlaced',
  data: { hold, key, matter },
});
const released = (hold: string): SubjectEvent => ({
  type: 'LegalHoldReleased',
  data: { hold, key },
});
const requested: SubjectEvent = {
  type: 'ErasureRequested',
  data: { erasure: 'era_1', key, ...grounds, by: 'ada' },
};

describe('an erasure', () => {
  it('X-12: is recorded with its reason, its counts and nothing that tells who it was', () => {
    given().when(erase()).then(erased);
  });

  it('B48: a second one is a no-op, whoever asks and whatever for', () => {
    given(erased).when(erase()).then();
    given(erased)
      .when(erase({ by: 'bob', grounds: { reason: 'unlawful' }, fourEyes: true }))
      .then();
  });

  it('the id of an erasure is that of its key in its workspace', () => {
    expect(erasureId('w', key)).toBe(erasureId('w', key));
    expect(erasureId('w', key)).toMatch(/^era_[0-9a-f]{20}$/);
    expect(erasureId('v', key)).not.toBe(erasureId('w', key));
  });
});

describe('the erasure of somebody who acts', () => {
  const also = ['k_of_his_words'];
  const whose = { of: 'principal' as const, also };

  it('B48: names every key that goes with him, and destroys each of them once', () => {
    given()
      .when(erase({ whose }))
      .then({ type: 'SubjectErased', data: { ...erased.data, ...whose } });
    expect(keysOf({ ...erased.data, ...whose })).toEqual([key, ...also]);
    expect(keysOf({ ...erased.data, ...whose, also: [key, ...also] })).toEqual([key, ...also]);
    expect(keysOf(erased.data)).toEqual([key]);
  });

  it('needs another person where nobody erases alone, and waits for every hold', () => {
    const byBob = erase({ whose, by: 'bob', fourEyes: true });
    given()
      .when(erase({ whose, fourEyes: true }))
      .then(requested);
    given(requested)
      .when(byBob)
      .then({ type: 'SubjectErased', data: { ...erased.data, requested_by: 'ada', ...whose } });
    given(placed('hold_1', '2026-LIT-4')).when(erase({ whose })).thenRefused('legal_hold');
    given()
      .when({ type: 'Hold', hold: 'hold_1', key, matter: 'M-1', whose: { of: 'principal' } })
      .then({
        type: 'LegalHoldPlaced',
        data: { hold: 'hold_1', key, matter: 'M-1', of: 'principal' },
      });
  });
});

describe('a legal hold', () => {
  const hold = holdId('w', key, '2026-LIT-4');

  it('refuses the erasure and names every matter', () => {
    const refusal = given(placed(hold, '2026-LIT-4'), placed('hold_2', '2026-LIT-9'))
      .when(erase())
      .thenRefused('legal_hold');
    expect(refusal.message).toContain('2026-LIT-4, 2026-LIT-9');
    expect(refusal.issues).toHaveLength(2);
  });

  it('refuses it also where another person had asked before the hold came', () => {
    given(requested, placed(hold, '2026-LIT-4'))
      .when(erase({ by: 'bob', fourEyes: true }))
      .thenRefused('legal_hold');
  });

  it('once all are released the texts may go; one of two is not enough', () => {
    const both = [placed(hold, '2026-LIT-4'), placed('hold_2', '2026-LIT-9')];
    given(...both, released(hold))
      .when(erase())
      .thenRefused('legal_hold');
    given(...both, released(hold), released('hold_2'))
      .when(erase())
      .then(erased);
  });

  it('is placed once for each matter, and again after its release', () => {
    const place = { type: 'Hold', hold, key, matter: '2026-LIT-4' } as const;
    given().when(place).then(placed(hold, '2026-LIT-4'));
    given(placed(hold, '2026-LIT-4')).when(place).then();
    given(placed(hold, '2026-LIT-4'), released(hold)).when(place).then(placed(hold, '2026-LIT-4'));
  });

  it('cannot hold what is gone', () => {
    given(erased)
      .when({ type: 'Hold', hold, key, matter: '2026-LIT-4' })
      .thenRefused('subject_erased');
  });

  it('is released once; one that never was is refused', () => {
    const release = { type: 'Release', hold, key } as const;
    given(placed(hold, '2026-LIT-4')).when(release).then(released(hold));
    given(placed(hold, '2026-LIT-4'), released(hold)).when(release).then();
    given().when(release).thenRefused('unknown_hold');
  });
});

describe('where nobody erases alone', () => {
  const byBob = erase({ by: 'bob', fourEyes: true });

  it('the first one asks, and asking again changes nothing', () => {
    given()
      .when(erase({ fourEyes: true }))
      .then(requested);
    given(requested)
      .when(erase({ fourEyes: true }))
      .then();
  });

  it('another person’s asking for the same does it, and both are named', () => {
    given(requested)
      .when(byBob)
      .then({ type: 'SubjectErased', data: { ...erased.data, requested_by: 'ada' } });
  });

  it('a request that nobody confirmed in time is void: the next one asks anew', () => {
    given(requested)
      .when(erase({ by: 'bob', fourEyes: true, nowMs: REQUEST_VALID_MS - 1 }))
      .thenMatches(([event]) => expect(event?.type).toBe('SubjectErased'));
    given(requested)
      .when(erase({ by: 'bob', fourEyes: true, nowMs: REQUEST_VALID_MS }))
      .then({ type: 'ErasureRequested', data: { ...requested.data, by: 'bob' } });
  });
});
