import { canonicalJson, sha256 } from '#kernel/json.js';
import type { Expectation } from './dataset.events.js';
import type { Check, Measured, Observed, Summary } from './evalrun.events.js';

/** Raised whenever the same answer could be judged differently. */
export const SCORER_VERSION = 'checks-1';

export const OBSERVED_LIMITS = {
  /** Characters of a value's canonical JSON; a longer one is kept as its hash. */
  value: 4_000,
  /** Ids of sources that are kept; all of them are checked. */
  sources: 20,
  reason: 500,
} as const;

/** An answer as the checks see it. */
export interface Observation {
  state: string;
  reason: string;
  topic?: string;
  decision?: { id: string; value?: unknown; scope: Readonly<Record<string, string>> };
  /** What the answer lists. */
  sources: readonly { id: string; document?: string }[];
  /** `stands`: the words are where the excerpt says, in a text that has its source's hash. */
  excerpts: readonly { source: string; stands: boolean }[];
  asOf: string;
}

/** O-48, O-49: the five checks of one case. A check with nothing to measure is `not_applicable`. */
export function measure(expect: Expectation, seen: Observation): Measured {
  return {
    observed: observedOf(seen),
    checks: [
      verdict('state', seen.state === expect.state, `it is ${seen.state}`),
      decisionCheck(expect, seen),
      scopeCheck(expect, seen),
      sourcesCheck(expect, seen),
      excerptsCheck(seen),
    ],
  };
}

export function summaryOf(cases: readonly Pick<Measured, 'checks'>[]): Summary {
  const results = cases.flatMap(({ checks }) => checks.map(({ result }) => result));
  const count = (wanted: Check['result']): number => results.filter((r) => r === wanted).length;
  return {
    cases: cases.length,
    cases_passed: cases.filter(({ checks }) => checks.every((c) => c.result !== 'fail')).length,
    checks: {
      pass: count('pass'),
      fail: count('fail'),
      not_applicable: count('not_applicable'),
    },
  };
}

function verdict(check: Check['check'], passes: boolean, detail: string): Check {
  return passes ? { check, result: 'pass' } : { check, result: 'fail', detail };
}

function notApplicable(check: Check['check']): Check {
  return { check, result: 'not_applicable' };
}

/** QO-19: the decision, its value or both, as far as they are expected. */
function decisionCheck(expect: Expectation, { decision }: Observation): Check {
  const { decision_id: id, value } = expect;
  if (id === undefined && value === undefined) return notApplicable('decision');
  if (!decision) return verdict('decision', false, 'no decision is in force');
  if (id !== undefined && id !== decision.id)
    return verdict('decision', false, 'it is another decision');
  return verdict(
    'decision',
    value === undefined || same(value, decision.value),
    decision.value === undefined ? 'the decision has no value' : 'it has another value',
  );
}

function scopeCheck({ scope }: Expectation, { decision }: Observation): Check {
  if (scope === undefined) return notApplicable('scope');
  if (!decision) return verdict('scope', false, 'no decision is in force');
  return verdict('scope', same(scope, decision.scope), 'the decision has another scope');
}

function sourcesCheck({ sources = [] }: Expectation, seen: Observation): Check {
  if (sources.length === 0) return notApplicable('sources');
  const listed = new Set(seen.sources.flatMap(({ id, document }) => [id, document]));
  const missing = sources.filter((source) => !listed.has(source)).length;
  return verdict('sources', missing === 0, `${missing} of ${sources.length} are not listed`);
}

function excerptsCheck(seen: Observation): Check {
  const total = seen.excerpts.length;
  if (total === 0) return notApplicable('excerpts');
  const lost = unresolved(seen);
  return verdict('excerpts', lost === 0, `${lost} of ${total} do not resolve to a listed source`);
}

function unresolved({ excerpts, sources }: Observation): number {
  const listed = new Set(sources.map(({ id }) => id));
  return excerpts.filter(({ source, stands }) => !stands || !listed.has(source)).length;
}

function same(a: unknown, b: unknown): boolean {
  return b !== undefined && canonicalJson(a) === canonicalJson(b);
}

function observedOf(seen: Observation): Observed {
  const { decision, topic } = seen;
  return {
    state: seen.state,
    // Cut between the halves of a pair it could not be stored.
    reason: seen.reason.slice(0, OBSERVED_LIMITS.reason).toWellFormed(),
    ...(topic === undefined ? {} : { topic }),
    ...(decision === undefined
      ? {}
      : { decision_id: decision.id, ...valueOf(decision.value), scope: { ...decision.scope } }),
    sources: seen.sources.slice(0, OBSERVED_LIMITS.sources).map(({ id }) => id),
    sources_total: seen.sources.length,
    excerpts_total: seen.excerpts.length,
    excerpts_unresolved: unresolved(seen),
    as_of: seen.asOf,
  };
}

function valueOf(value: unknown): Pick<Observed, 'value' | 'value_sha256'> {
  if (value === undefined) return {};
  const text = canonicalJson(value);
  return text.length <= OBSERVED_LIMITS.value ? { value } : { value_sha256: sha256(text) };
}
