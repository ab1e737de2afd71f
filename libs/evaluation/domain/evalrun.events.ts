import type { Json } from '#kernel/json.js';
import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const check = t.Object({
  check: t.Union([
    t.Literal('state'),
    t.Literal('decision'),
    t.Literal('scope'),
    t.Literal('sources'),
    t.Literal('excerpts'),
  ]),
  result: t.Union([t.Literal('pass'), t.Literal('fail'), t.Literal('not_applicable')]),
  /** Why it failed. */
  detail: t.Optional(t.String()),
});

/** What the resolver answered, as far as the checks looked at it. No text of a source is in it. */
const observed = t.Object({
  state: t.String(),
  reason: t.String(),
  topic: t.Optional(t.String()),
  decision_id: t.Optional(t.String()),
  value: t.Optional(t.Unknown()),
  /** Instead of a value that is too long to be kept: SHA-256 of its canonical JSON. */
  value_sha256: t.Optional(t.String()),
  scope: t.Optional(t.Record(t.String(), t.String())),
  /** Ids, the first ones of `sources_total`. */
  sources: t.Array(t.String()),
  sources_total: t.Integer(),
  excerpts_total: t.Integer(),
  /** Of these, how many name a source that is not listed, or are not found in it. */
  excerpts_unresolved: t.Integer(),
  /** Valid time that was asked about. */
  as_of: t.String(),
});

const summary = t.Object({
  cases: t.Integer(),
  /** Cases in which no check failed. */
  cases_passed: t.Integer(),
  checks: t.Object({ pass: t.Integer(), fail: t.Integer(), not_applicable: t.Integer() }),
});

/** Stream `evalrun-<workspace>-<run>`: one event, appended when every case was measured (O-47). */
const vocabulary = {
  EvalRunCompleted: {
    version: 2,
    schema: t.Object({
      run_id: t.String(),
      dataset_id: t.String(),
      dataset_hash: t.String(),
      scorer_version: t.String(),
      ontology_version: t.Integer(),
      /** Log position at which all cases were resolved. */
      memory_position: t.Integer(),
      summary,
      /** In the order of the dataset's cases. */
      cases: t.Array(
        t.Object({
          observed,
          checks: t.Array(check),
          /** Ids of the keys that seal the value and the reason; absent in version 1, and where nothing is sealed. */
          keys: t.Optional(t.Array(t.String())),
        }),
      ),
    }),
    upcasts: { 1: (data: Json) => data },
    personal: ['cases.*.observed.value', 'cases.*.observed.reason'],
  },
} as const;

export const evalrunCodec = codec(vocabulary);
export type EvalRunEvent = EventOf<typeof vocabulary>;
export type CompletedRun = EvalRunEvent['data'];
export type Check = Static<typeof check>;
export type Observed = Static<typeof observed>;
export type Summary = Static<typeof summary>;
export type Measured = CompletedRun['cases'][number];
