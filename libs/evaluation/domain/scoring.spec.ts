import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { specification } from '#kernel/testing.js';
import type { Expectation } from './dataset.events.js';
import { evalrunCodec, type Check } from './evalrun.events.js';
import { evalrunDecider } from './evalrun.js';
import {
  measure,
  OBSERVED_LIMITS,
  SCORER_VERSION,
  summaryOf,
  type Observation,
} from './scoring.js';

const SEEN: Observation = {
  state: 'verified',
  reason: 'In force since 2024-01-01.',
  topic: 'terms',
  decision: { id: 'terms.1', value: { days: 30, net: true }, scope: { region: 'eu' } },
  sources: [{ id: 'src_1', document: 'minutes/1.md' }, { id: 'src_2' }],
  excerpts: [{ source: 'src_1', stands: true }],
  asOf: '2026-01-31T00:00:00.000Z',
};
const UNKNOWN: Observation = {
  state: 'unknown',
  reason: 'No topic bears this name.',
  sources: [],
  excerpts: [],
  asOf: SEEN.asOf,
};

/** `pfn`: how each of the five checks came out, in their order. */
function outcome(expectation: Partial<Expectation>, seen = SEEN): string {
  const { checks } = measure({ state: 'verified', ...expectation }, seen);
  expect(checks.map(({ check }) => check)).toEqual([
    'state',
    'decision',
    'scope',
    'sources',
    'excerpts',
  ]);
  for (const { result, detail } of checks) expect(detail === undefined).toBe(result !== 'fail');
  return checks.map(({ result }) => result.charAt(0)).join('');
}

describe('the five checks of a case', () => {
  it.each<[string, Partial<Expectation>, Observation, string]>([
    ['state alone', {}, SEEN, 'pnnnp'],
    ['another state', { state: 'contested' }, SEEN, 'fnnnp'],
    ['the decision', { decision_id: 'terms.1' }, SEEN, 'ppnnp'],
    ['another decision', { decision_id: 'terms.2' }, SEEN, 'pfnnp'],
    ['the value, fields in any order', { value: { net: true, days: 30 } }, SEEN, 'ppnnp'],
    ['another value', { value: { days: 30 } }, SEEN, 'pfnnp'],
    ['the right decision, another value', { decision_id: 'terms.1', value: 1 }, SEEN, 'pfnnp'],
    [
      'a value, and none observed',
      { value: null },
      { ...SEEN, decision: { id: 'x', scope: {} } },
      'pfnnp',
    ],
    [
      'the value null',
      { value: null },
      { ...SEEN, decision: { id: 'x', value: null, scope: {} } },
      'ppnnp',
    ],
    ['the scope', { scope: { region: 'eu' } }, SEEN, 'pnpnp'],
    ['a narrower scope', { scope: { region: 'eu', team: 'a' } }, SEEN, 'pnfnp'],
    ['no restriction', { scope: {} }, SEEN, 'pnfnp'],
    ['a source by id', { sources: ['src_2'] }, SEEN, 'pnnpp'],
    ['a source by document', { sources: ['minutes/1.md', 'src_2'] }, SEEN, 'pnnpp'],
    ['one source missing', { sources: ['src_1', 'src_3'] }, SEEN, 'pnnfp'],
    ['no source asked for', { sources: [] }, SEEN, 'pnnnp'],
    ['nothing observed', { state: 'unknown' }, UNKNOWN, 'pnnnn'],
    [
      'all expected, nothing observed',
      { decision_id: 'x', scope: {}, sources: ['s'] },
      UNKNOWN,
      'ffffn',
    ],
  ])('O-48, O-49: %s', (_name, expectation, seen, expected) => {
    expect(outcome(expectation, seen)).toBe(expected);
  });

  it('QO-19: an excerpt must stand in a text that the answer lists', () => {
    const excerpts = (...list: Observation['excerpts']) => outcome({}, { ...SEEN, excerpts: list });
    expect(excerpts({ source: 'src_1', stands: true }, { source: 'src_2', stands: true })).toBe(
      'pnnnp',
    );
    expect(excerpts({ source: 'src_1', stands: false })).toBe('pnnnf');
    expect(excerpts({ source: 'src_1', stands: true }, { source: 'src_3', stands: true })).toBe(
      'pnnnf',
    );
    expect(excerpts()).toBe('pnnnn');
  });
});

describe('a run', () => {
  const RESULTS = ['pass', 'fail', 'not_applicable'] as const;
  const cases = fc.array(
    fc.record({
      checks: fc.array(
        fc.record({
          check: fc.constant<Check['check']>('state'),
          result: fc.constantFrom(...RESULTS),
        }),
        { minLength: 5, maxLength: 5 },
      ),
    }),
    { minLength: 1, maxLength: 20 },
  );

  it('O-49, invariant 9: every check is counted once, and not_applicable neither passes nor fails a case', () => {
    fc.assert(
      fc.property(cases, (measured) => {
        const { checks, cases: n, cases_passed } = summaryOf(measured);
        expect(checks.pass + checks.fail + checks.not_applicable).toBe(5 * n);
        const withoutNone = measured.map((one) => ({
          checks: one.checks.filter(({ result }) => result !== 'not_applicable'),
        }));
        const again = summaryOf(withoutNone);
        expect([again.checks.pass, again.checks.fail, again.cases_passed]).toEqual([
          checks.pass,
          checks.fail,
          cases_passed,
        ]);
      }),
    );
  });

  it('O-47, O-50, QO-20: is one event with the versions it rests on; completed once', () => {
    const run = {
      run_id: 'run_1',
      dataset_id: 'dataset_1',
      dataset_hash: 'h',
      ontology_version: 3,
      memory_position: 41,
      cases: [measure({ state: 'verified', decision_id: 'terms.2' }, SEEN)],
    };
    const checks = { pass: 2, fail: 1, not_applicable: 2 };
    const event = {
      type: 'EvalRunCompleted' as const,
      data: {
        ...run,
        scorer_version: SCORER_VERSION,
        summary: { cases: 1, cases_passed: 0, checks },
      },
    };
    const given = specification(evalrunDecider);
    given().when({ type: 'Complete', run }).then(event);
    given(event).when({ type: 'Complete', run }).then();
  });

  it('keeps what fits an event, whatever was answered', () => {
    const long = 'é\u{1f600}'.repeat(5_000);
    const seen: Observation = {
      ...SEEN,
      reason: `x${long}`,
      decision: { id: 'terms.1', value: long, scope: {} },
      sources: Array.from({ length: 500 }, (_, i) => ({ id: `src_${i}` })),
    };
    const one = measure({ state: 'verified', value: long, sources: ['src_499'] }, seen);
    expect(one.checks.map(({ result }) => result.charAt(0)).join('')).toBe('ppnpp');
    expect([one.observed.value, one.observed.value_sha256]).toEqual([
      undefined,
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    expect([one.observed.sources.length, one.observed.sources_total]).toEqual([
      OBSERVED_LIMITS.sources,
      500,
    ]);
    expect(one.observed.reason.isWellFormed()).toBe(true);
    const stored = evalrunCodec.encode({
      type: 'EvalRunCompleted',
      data: {
        run_id: 'r',
        dataset_id: 'd',
        dataset_hash: 'h',
        scorer_version: SCORER_VERSION,
        ontology_version: 0,
        memory_position: 0,
        summary: summaryOf([one]),
        cases: Array.from({ length: 20 }, () => one),
      },
    });
    expect(JSON.stringify(stored).length).toBeLessThan(100_000);
  });
});
