import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FOREVER } from '#kernel/time.js';
import { compareScopes, covers } from './claim.js';
import type { ClaimView } from './claim-view.js';
import { resolve, topicAt, type Question } from './resolver.js';

const ALL = { position: Infinity, ms: Infinity };
const at = (date: string): number => Date.parse(date);
const fact = (position: number) => ({
  position,
  ms: position * 1000,
  at: new Date(position * 1000).toISOString(),
  by: 'ann',
});

function view(
  id: string,
  more: Partial<ClaimView> & { from?: string; to?: string; n?: number },
): ClaimView {
  const { from, to, n = 1, ...rest } = more;
  return {
    decision_id: id,
    topic: 'terms',
    statement: id,
    scope: {},
    evidence: [{ source_id: 's', excerpt: id, start: 0, end: 1, verbatim: true }],
    relations: [],
    content_hash: '',
    reasons: [],
    proposed: fact(n),
    approval: {
      ...fact(n),
      revision: n,
      reason: 'agreed',
      startMs: at(from ?? '2024-01-01'),
      endMs: to === undefined ? FOREVER : at(to),
    },
    ends: [],
    confirmations: [],
    ...rest,
  };
}

function candidate(id: string): ClaimView {
  const { approval: _approval, ...rest } = view(id, {});
  return rest;
}

interface Asked extends Partial<Omit<Question, 'topic'>> {
  asOfMs?: number;
}

function ask(claims: ClaimView[], { asOfMs = at('2026-06-01'), ...more }: Asked = {}) {
  const { known = ALL } = more;
  const topic = topicAt(claims, asOfMs, known);
  return resolve({ topic, conflicts: [], scope: undefined, known, ...more });
}

const A = view('A', {
  from: '2024-01-01',
  n: 10,
  ends: [{ ...fact(10), kind: 'superseded', fromMs: at('2026-03-01'), successor: 'B' }],
});
const B = view('B', { from: '2026-03-01', n: 5 });

describe('time', () => {
  it('B06: heads follow validity, not arrival: the older decision recorded later is history', () => {
    const now = ask([A, B]);
    expect(now).toMatchObject({ state: 'verified', decision: { decision_id: 'B' } });
    expect(now.history.map((c) => c.decision_id)).toEqual(['A']);
    expect(ask([A, B], { asOfMs: at('2025-06-01') }).decision?.decision_id).toBe('A');
    expect(ask([A, B], { asOfMs: at('2023-06-01') }).state).toBe('unknown');
  });

  it('B06: with knowledge from before A was recorded, 2025 is unknown', () => {
    for (const known of [
      { position: 9, ms: Infinity },
      { position: Infinity, ms: 9_000 },
    ])
      expect(ask([A, B], { asOfMs: at('2025-06-01'), known }).state).toBe('unknown');
  });

  it('B18: intervals are half-open: valid at its first moment, no longer at its last', () => {
    const bounded = view('C', { from: '2026-01-01', to: '2026-02-01' });
    expect(ask([bounded], { asOfMs: at('2026-01-01') }).state).toBe('verified');
    expect(ask([bounded], { asOfMs: at('2026-01-01') - 1 }).state).toBe('unknown');
    expect(ask([bounded], { asOfMs: at('2026-02-01') }).state).toBe('insufficient_evidence');
    expect(ask([bounded], { asOfMs: at('2026-02-01') - 1 }).state).toBe('verified');
  });
});

describe('states', () => {
  it('O-15: nothing recorded is unknown; only candidates is insufficient evidence', () => {
    expect(ask([]).state).toBe('unknown');
    expect(ask([candidate('X')])).toMatchObject({
      state: 'insufficient_evidence',
      reason: expect.stringContaining('1 candidate awaits'),
    });
  });

  it('B13: two heads are contested, listed and never ranked', () => {
    const result = ask([view('A', {}), view('B', {})]);
    expect(result.state).toBe('contested');
    expect(result.decision).toBeUndefined();
    expect(result.alternatives.map((c) => c.decision_id)).toEqual(['A', 'B']);
  });

  it('QO-27, B16: a revoked decision answers insufficient evidence, naming the revocation, and is not replaced by what it superseded', () => {
    const revoked = {
      ...fact(20),
      kind: 'revoked' as const,
      fromMs: at('2026-05-01'),
      reason: 'wrong',
    };
    const result = ask([A, { ...B, ends: [revoked] }]);
    expect(result.state).toBe('insufficient_evidence');
    expect(result.reason).toContain('revoked by ann: wrong');
    expect(
      ask([A, { ...B, ends: [revoked] }], { asOfMs: at('2026-04-01') }).decision?.decision_id,
    ).toBe('B');
    expect(
      ask([A, { ...B, ends: [revoked] }], { known: { position: 19, ms: Infinity } }).decision
        ?.decision_id,
    ).toBe('B');
  });

  it('QO-2: an approved decision without an excerpt is insufficient evidence', () => {
    expect(ask([view('A', { evidence: [] })])).toMatchObject({
      state: 'insufficient_evidence',
      decision: { decision_id: 'A' },
    });
  });
});

const general = view('general', {});

describe('scope (QO-3)', () => {
  const team = view('team', { scope: { team: 'a' } });
  const both = view('both', { scope: { team: 'a', region: 'eu' } });
  const region = view('region', { scope: { region: 'eu' } });

  it('the narrowest of nested heads holds', () => {
    expect(ask([general, team, both], { scope: { team: 'a' } }).decision?.decision_id).toBe('team');
    expect(
      ask([general, team, both], { scope: { team: 'a', region: 'eu' } }).decision?.decision_id,
    ).toBe('both');
    expect(ask([general, team, both], { scope: { team: 'b' } }).decision?.decision_id).toBe(
      'general',
    );
    expect(ask([general, team, both]).decision?.decision_id).toBe('general');
  });

  it('crossing heads are contested where both apply', () => {
    expect(ask([team, region], { scope: { team: 'a', region: 'eu' } }).state).toBe('contested');
    expect(ask([team, region], { scope: { team: 'a' } }).decision?.decision_id).toBe('team');
  });

  it('without a scope, decisions for particular scopes are candidates only', () => {
    const result = ask([team, region]);
    expect(result.state).toBe('insufficient_evidence');
    expect(result.alternatives).toHaveLength(2);
  });
});

describe('several that hold at once', () => {
  const a = view('A', { statement: 'x', value: 1, scope: { team: 'a' }, n: 2 });
  const b = view('B', { statement: 'y', value: 1, scope: { region: 'eu' }, n: 1 });
  const c = view('C', { statement: 'z', value: 2, scope: { region: 'eu' }, n: 3 });
  const scope = { team: 'a', region: 'eu' };
  const conflict = (how: 'resolved' | 'dismissed', position: number) => ({
    conflict_id: 'C.c1',
    topic: 'terms',
    kind: 'overlapping_scopes',
    claims: ['A', 'C'],
    would_be_resolved_by: [],
    opened: fact(4),
    closed: { ...fact(position), how, reason: 'both are meant' },
  });

  it('QO-24: the same value in crossing scopes is one answer; the first approved stands for it', () => {
    const result = ask([a, b], { scope });
    expect(result).toMatchObject({ state: 'verified', decision: { decision_id: 'B' } });
    expect(result.alternatives.map((x) => x.decision_id)).toEqual(['A']);
    expect(result.reason).toContain('2 approved decisions say the same');
  });

  it('B13: one other value among them and nothing is ranked', () => {
    const result = ask([a, b, c], { scope });
    expect(result.state).toBe('contested');
    expect(result.alternatives).toHaveLength(3);
  });

  it('O-33: a dismissed conflict ends the contest from the moment on that it was recorded', () => {
    const given = { scope, conflicts: [conflict('dismissed', 9)] };
    expect(ask([a, c], given)).toMatchObject({
      state: 'verified',
      decision: { decision_id: 'A' },
      alternatives: [{ decision_id: 'C' }],
    });
    expect(ask([a, c], { ...given, known: { position: 8, ms: Infinity } }).state).toBe('contested');
    expect(ask([a, c], { scope, conflicts: [conflict('resolved', 9)] }).state).toBe('contested');
  });

  it('QO-3: with a hierarchy a value holds for those below it, and the nearer one wins', () => {
    const isWithin = (_d: string, value: string, above: string) =>
      value === above || (value === 'de' && above === 'eu');
    const de = view('DE', { scope: { region: 'de' } });
    const eu = view('EU', { scope: { region: 'eu' } });
    const at = (region: string) => ask([eu, de], { scope: { region }, isWithin });
    expect(at('de').decision?.decision_id).toBe('DE');
    expect(at('eu').decision?.decision_id).toBe('EU');
    expect(ask([eu], { scope: { region: 'de' }, isWithin }).decision?.decision_id).toBe('EU');
    expect(ask([eu], { scope: { region: 'de' } }).state).toBe('insufficient_evidence');
  });

  it('QO-2: a head whose excerpts stand in no captured source any more is insufficient evidence', () => {
    const gone = ask([general], { verifies: () => false });
    expect(gone.state).toBe('insufficient_evidence');
    expect(gone.reason).toContain('in no captured source any more');
    const confirmed = view('general', {
      confirmations: [
        {
          ...fact(7),
          decision_id: 'again',
          evidence: [{ source_id: 'other', excerpt: 'x', start: 0, end: 1, verbatim: true }],
        },
      ],
    });
    const verifies = (e: { source_id: string }) => e.source_id === 'other';
    expect(ask([confirmed], { verifies }).state).toBe('verified');
    expect(ask([confirmed], { verifies, known: { position: 6, ms: Infinity } }).state).toBe(
      'insufficient_evidence',
    );
  });

  it('what its own approval left no time is no history', () => {
    const end = {
      ...fact(10),
      kind: 'superseded' as const,
      fromMs: at('2020-01-01'),
      successor: 'B',
    };
    const never = view('N', { n: 10, ends: [{ ...end, atOnce: true }] });
    expect(ask([never, B]).history).toEqual([]);
    const later = view('N', { n: 10, ends: [{ ...end, ...fact(11) }] });
    expect(ask([later, B]).history).toHaveLength(1);
  });
});

describe('properties', () => {
  const scope = fc.dictionary(fc.constantFrom('team', 'region'), fc.constantFrom('a', 'b'));
  const claims = fc.array(
    fc.record({
      scope,
      from: fc.integer({ min: 2020, max: 2026 }),
      years: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 6 },
  );

  it('invariant 6: verified means that exactly one decision applies which no narrower one displaces', () => {
    fc.assert(
      fc.property(claims, scope, fc.integer({ min: 2019, max: 2036 }), (drawn, asked, year) => {
        const views = drawn.map((d, i) =>
          view(`D${i}`, {
            scope: d.scope,
            from: `${d.from}-01-01`,
            to: `${d.from + d.years}-01-01`,
          }),
        );
        const result = ask(views, { scope: asked, asOfMs: at(`${year}-06-01`) });
        const applying = views.filter(
          (_v, i) =>
            covers(drawn[i]?.scope ?? {}, asked) &&
            (drawn[i]?.from ?? 0) <= year &&
            year < (drawn[i]?.from ?? 0) + (drawn[i]?.years ?? 0),
        );
        const narrowest = applying.filter(
          (v) => !applying.some((o) => compareScopes(o.scope, v.scope) === 'narrower'),
        );
        if (narrowest.length === 1) {
          expect(result.state).toBe('verified');
          expect(result.decision?.decision_id).toBe(narrowest[0]?.decision_id);
        } else {
          expect(result.decision).toBeUndefined();
          expect(result.state === 'contested').toBe(narrowest.length > 1);
        }
      }),
    );
  });

  it('B09: the order in which claims are read never changes the answer', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([A, B, view('T', { scope: { team: 'a' } })], { minLength: 3 }),
        (shuffled) => {
          expect(ask(shuffled).decision?.decision_id).toBe('B');
          expect(ask(shuffled).history.map((c) => c.decision_id)).toEqual(['A']);
        },
      ),
    );
  });
});
