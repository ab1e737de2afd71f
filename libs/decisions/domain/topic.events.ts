import { sha256, type Json } from '#kernel/json.js';
import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const scope = t.Record(t.String(), t.String());

/** Ids of the keys that seal the personal text of an event; absent in version 1, and where nothing is sealed. */
const keys = t.Optional(t.Array(t.String()));
/** Version 1 had no keys, and nothing was sealed. */
const upcasts = { 1: (data: Json) => data };

const evidence = t.Object({
  source_id: t.String(),
  /** The source's own text between the offsets (UTF-16 units). */
  excerpt: t.String(),
  start: t.Integer(),
  end: t.Integer(),
  verbatim: t.Boolean(),
});

const relation = t.Object({
  kind: t.Union([t.Literal('partially_supersedes'), t.Literal('amends')]),
  decision_id: t.String(),
});

/** A decision as a topic remembers it, with what became of it. */
const held = t.Object({
  decision_id: t.String(),
  meaning: t.String(),
  keys,
  scope,
  content_hash: t.String(),
  supersedes: t.Array(t.String()),
  effective_from: t.Optional(t.String()),
  effective_to: t.Optional(t.String()),
  decided_at: t.Optional(t.String()),
  /** SHA-256 of the document's name. */
  document_key: t.Optional(t.String()),
  origin: t.String(),
  proposed_by: t.String(),
  status: t.Union([
    t.Literal('candidate'),
    t.Literal('approved'),
    t.Literal('superseded'),
    t.Literal('revoked'),
    t.Literal('rejected'),
    t.Literal('retracted'),
    t.Literal('confirming'),
  ]),
  /** Of one that was approved: its validity as it stands; without an end it is still open. */
  starts_at: t.Optional(t.String()),
  ends_at: t.Optional(t.String()),
  /** What superseded it, what it confirms, what was put in its place. */
  by: t.Optional(t.String()),
});

/** Times named `…_at` here are instants in UTC; `effective_from`, `effective_to` and `decided_at` are kept as they were written. */
const vocabulary = {
  TopicOpened: {
    version: 1,
    schema: t.Object({ topic: t.String(), name: t.String() }),
  },
  TopicAliased: {
    version: 1,
    schema: t.Object({ topic: t.String(), aliases: t.Array(t.String()) }),
  },
  /** Closes the stream: its decisions stand in the topic `into` from the moment on that this one absorbs them. */
  TopicMerged: {
    version: 1,
    schema: t.Object({ topic: t.String(), into: t.String(), ontology_version: t.Integer() }),
  },
  /** The decisions and conflicts of a merged topic, for the one that decides about them from now on. In parts where they are many. */
  TopicAbsorbed: {
    version: 2,
    schema: t.Object({
      topic: t.String(),
      /** Topics that had been merged into it before. */
      lines: t.Array(t.String()),
      decisions: t.Array(held),
      open_conflicts: t.Array(t.Object({ conflict_id: t.String(), claims: t.Array(t.String()) })),
      closed_conflicts: t.Array(
        t.Object({
          conflict_id: t.String(),
          as: t.Union([t.Literal('resolved'), t.Literal('dismissed')]),
        }),
      ),
      /** Names that records gave it. */
      aliases: t.Array(t.String()),
      /** Pairs of decisions that were found not to be incompatible, each with a space in between. */
      compatible: t.Array(t.String()),
      /** True: another part follows, and nothing of it counts before the last one. */
      more: t.Boolean(),
    }),
    upcasts: { 1: absorbedWithKeys },
    personal: ['decisions.*.meaning'],
  },
  DecisionProposed: {
    version: 2,
    schema: t.Object({
      decision_id: t.String(),
      statement: t.String(),
      value: t.Optional(t.Unknown()),
      scope,
      effective_from: t.Optional(t.String()),
      effective_to: t.Optional(t.String()),
      decided_at: t.Optional(t.String()),
      /** `<collection>/<path>` of the document whose decision it is. */
      document: t.Optional(t.String()),
      /** SHA-256 of that name. */
      document_key: t.Optional(t.String()),
      /** Decisions of this topic that it would replace once approved. */
      supersedes: t.Array(t.String()),
      /** Ties that retire nothing. */
      relations: t.Array(relation),
      evidence: t.Array(evidence),
      /** SHA-256 over the canonical form of all of the above: what a reviewer inspected. */
      content_hash: t.String(),
      /** Why it awaits a review; empty for one that is approved in the same append. */
      reasons: t.Array(t.String()),
      /** Principal who may retract it. */
      proposed_by: t.String(),
      /** `<ingestion job>#<record>` that brought it. */
      origin: t.String(),
      keys,
    }),
    upcasts,
    personal: ['statement', 'value', 'document', 'evidence.*.excerpt'],
  },
  DecisionApproved: {
    version: 2,
    schema: t.Object({
      decision_id: t.String(),
      content_hash: t.String(),
      reason: t.String(),
      effective_from: t.Optional(t.String()),
      effective_to: t.Optional(t.String()),
      /** Start of validity: `effective_from` in the workspace's zone, or the approval where none is stated. */
      starts_at: t.String(),
      ends_at: t.Optional(t.String()),
      supersedes: t.Array(t.String()),
      keys,
    }),
    upcasts,
    remarks: ['reason'],
  },
  DecisionConfirmed: {
    version: 2,
    schema: t.Object({
      /** The head that stays. */
      decision_id: t.String(),
      /** The candidate that says the same and ends hereby; its evidence is added to the head's. */
      by: t.String(),
      reason: t.String(),
      keys,
    }),
    upcasts,
    remarks: ['reason'],
  },
  DecisionSuperseded: {
    version: 2,
    schema: t.Object({
      decision_id: t.String(),
      by: t.String(),
      ends_at: t.String(),
      /** Why, where it lost a conflict; else the approval of `by` says it. */
      reason: t.Optional(t.String()),
      keys,
    }),
    upcasts,
    remarks: ['reason'],
  },
  DecisionRejected: {
    version: 2,
    schema: t.Object({ decision_id: t.String(), reason: t.String(), keys }),
    upcasts,
    remarks: ['reason'],
  },
  DecisionRetracted: {
    version: 2,
    schema: t.Object({
      decision_id: t.String(),
      reason: t.String(),
      /** The candidate that the same proposer put in its place: the same document with another text. */
      replaced_by: t.Optional(t.String()),
      keys,
    }),
    upcasts,
    remarks: ['reason'],
  },
  DecisionRevoked: {
    version: 2,
    schema: t.Object({ decision_id: t.String(), reason: t.String(), ends_at: t.String(), keys }),
    upcasts,
    remarks: ['reason'],
  },
  ConflictOpened: {
    version: 1,
    schema: t.Object({
      conflict_id: t.String(),
      kind: t.Union([t.Literal('same_scope'), t.Literal('overlapping_scopes')]),
      claims: t.Array(t.String()),
      would_be_resolved_by: t.Array(t.String()),
    }),
  },
  ConflictResolved: {
    version: 2,
    schema: t.Object({
      conflict_id: t.String(),
      winner: t.Optional(t.String()),
      reason: t.String(),
      /** Of all claims of the conflict. */
      keys,
    }),
    upcasts,
    remarks: ['reason'],
  },
  /** The claims are not incompatible: they hold side by side from now on, and no conflict opens between any two of them again. */
  ConflictDismissed: {
    version: 2,
    schema: t.Object({ conflict_id: t.String(), reason: t.String(), keys }),
    upcasts,
    remarks: ['reason'],
  },
} as const;

/** Version 1 told documents apart by their names. */
function absorbedWithKeys(data: Json): Json {
  const { decisions, ...rest } = data as { decisions: Record<string, Json>[] };
  return {
    ...rest,
    decisions: decisions.map(({ document, ...held }) =>
      typeof document === 'string' ? { ...held, document_key: sha256(document) } : held,
    ),
  };
}

export const topicCodec = codec(vocabulary);
export type TopicVocabulary = typeof vocabulary;
export type TopicEvent = EventOf<typeof vocabulary>;
export type Evidence = Static<typeof evidence>;
export type Relation = Static<typeof relation>;
export type Scope = Static<typeof scope>;
export type Proposed = Extract<TopicEvent, { type: 'DecisionProposed' }>['data'];
