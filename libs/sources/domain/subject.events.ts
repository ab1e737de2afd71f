import type { Json } from '#kernel/json.js';
import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

/** Why something is erased. A closed list, because free text could name the person whose data it ends. */
export const ERASURE_REASONS = [
  'requested',
  'consent_withdrawn',
  'objection',
  'no_longer_needed',
  'unlawful',
  'legal_obligation',
  'mistake',
] as const;

const grounds = {
  reason: t.Union(ERASURE_REASONS.map((reason) => t.Literal(reason))),
  /** Of the request or the case file. */
  reference: t.Optional(t.String()),
};

/** What was sealed with the key, in counts. */
const touched = t.Object({
  sources: t.Integer(),
  decisions: t.Integer(),
  answers: t.Integer(),
  jobs: t.Integer(),
  /** Whatever else holds a text that the key sealed. */
  others: t.Integer(),
});

/** Whose texts the key seals, where it is no subject of a source: somebody who acts in the organisation. Absent in version 1. */
const of = t.Optional(t.Literal('principal'));
const ofSubject = { 1: (payload: Json): Json => payload };

/**
 * Stream `subject-<workspace>-<key>`; of a principal, whose key is that of an organisation, with its first workspace: what was decided about the texts that one key seals. Nothing in it tells who the subject is: ids,
 * counts, words of a closed list and numbers of case files only.
 */
const vocabulary = {
  LegalHoldPlaced: {
    version: 2,
    schema: t.Object({ hold: t.String(), key: t.String(), matter: t.String(), of }),
    upcasts: ofSubject,
  },
  LegalHoldReleased: {
    version: 1,
    schema: t.Object({ hold: t.String(), key: t.String() }),
  },
  /** Where nobody erases alone: a second person has to ask for the same. */
  ErasureRequested: {
    version: 1,
    schema: t.Object({ erasure: t.String(), key: t.String(), ...grounds, by: t.String() }),
  },
  /** From here on the key, and those that go with it, are to be destroyed wherever they are kept, at every start anew. */
  SubjectErased: {
    version: 2,
    schema: t.Object({
      erasure: t.String(),
      key: t.String(),
      ...grounds,
      /** Principal who had asked first, where nobody erases alone. */
      requested_by: t.Optional(t.String()),
      touched,
      /** Ids of sources whose texts the key sealed, in the order of their capture; of very many the first ones. */
      sources: t.Array(t.String()),
      of,
      /** Keys of a principal's own words, one for each workspace. */
      also: t.Optional(t.Array(t.String())),
    }),
    upcasts: ofSubject,
  },
} as const;

export const subjectCodec = codec(vocabulary);
export type SubjectEvent = EventOf<typeof vocabulary>;
export type Touched = Static<typeof touched>;
export type SubjectData<K extends SubjectEvent['type']> = Extract<
  SubjectEvent,
  { type: K }
>['data'];
export type ErasureReason = (typeof ERASURE_REASONS)[number];
