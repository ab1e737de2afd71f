import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const scope = t.Record(t.String(), t.String());

/** What a person expects of the answer. What is absent is not checked. */
const expectation = t.Object({
  state: t.Union([
    t.Literal('verified'),
    t.Literal('contested'),
    t.Literal('insufficient_evidence'),
    t.Literal('unknown'),
  ]),
  decision_id: t.Optional(t.String()),
  value: t.Optional(t.Unknown()),
  scope: t.Optional(scope),
  /** Sources that must be listed, each by its id or as `<collection>/<path>`. */
  sources: t.Optional(t.Array(t.String())),
});

const question = t.Object({
  question: t.String(),
  topic: t.Optional(t.String()),
  scope: t.Optional(scope),
  /** As written; absent: the time of the run. */
  as_of: t.Optional(t.String()),
  /** Time or log position, as written; absent: everything recorded. */
  known_at: t.Optional(t.String()),
  expect: expectation,
});

/** Everything that the hash of a dataset is taken over. */
const content = {
  name: t.String(),
  description: t.Optional(t.String()),
  cases: t.Array(question),
};

const reviewed = t.Object({ dataset_hash: t.String(), reason: t.String() });

/** Stream `dataset-<workspace>-<dataset>`: one set of questions, never changed, and what became of it. */
const vocabulary = {
  DatasetPrepared: {
    version: 1,
    schema: t.Object({
      ...content,
      dataset_id: t.String(),
      /** SHA-256 of the canonical content; the id is taken from it. */
      dataset_hash: t.String(),
      prepared_by: t.String(),
    }),
  },
  DatasetApproved: { version: 1, schema: reviewed },
  DatasetRetired: { version: 1, schema: reviewed },
} as const;

export const datasetCodec = codec(vocabulary);
export type DatasetEvent = EventOf<typeof vocabulary>;
export type Expectation = Static<typeof expectation>;
export type EvalCase = Static<typeof question>;
export interface DatasetContent {
  name: string;
  description?: string;
  cases: EvalCase[];
}
