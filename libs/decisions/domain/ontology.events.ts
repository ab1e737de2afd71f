import { t, type Static } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const succession = t.Union([t.Literal('stated'), t.Literal('by_effective_date')]);
const role = t.Union([
  t.Literal('member'),
  t.Literal('approver'),
  t.Literal('admin'),
  t.Literal('owner'),
]);

const topic = t.Object({
  id: t.String(),
  name: t.String(),
  /** In the order in which they were added; a former name is one of them. */
  aliases: t.Array(t.String()),
  /** Id of the topic above. */
  parent: t.Optional(t.String()),
  succession,
  description: t.Optional(t.String()),
});

const value = t.Object({ value: t.String(), parent: t.Optional(t.String()) });

const dimension = t.Object({
  name: t.String(),
  values: t.Array(value),
  /** True: values that are not declared may be used too. */
  open: t.Boolean(),
  description: t.Optional(t.String()),
});

const sourceType = t.Object({ name: t.String(), description: t.Optional(t.String()) });

/** Who may approve. It states; it never approves anything by itself (QO-15). */
const rule = t.Object({
  /** Topic id, or `*` for every topic without a rule of its own. */
  topic: t.String(),
  /** Absent: for every type of source. */
  source_type: t.Optional(t.String()),
  role: t.Optional(role),
  persons: t.Array(t.String()),
  /** The higher one prevails where several fit equally well. */
  precedence: t.Integer(),
});

const merge = t.Object({ topic: t.String(), into: t.String() });

/** A whole ontology. Lists are in the order of their ids, so that equal ontologies have equal bytes. */
const content = t.Object({
  topics: t.Array(topic),
  dimensions: t.Array(dimension),
  source_types: t.Array(sourceType),
  authority: t.Array(rule),
  /** Merges since the beginning, oldest first. What was merged stays merged. */
  merged: t.Array(merge),
});

/** One step of a change. Which fields an `op` has is in `ontology-operations.ts`; topics are named by id, values as they are spelled. */
const operation = t.Object({
  op: t.String(),
  topic: t.Optional(t.String()),
  name: t.Optional(t.String()),
  alias: t.Optional(t.String()),
  aliases: t.Optional(t.Array(t.String())),
  parent: t.Optional(t.String()),
  into: t.Optional(t.String()),
  succession: t.Optional(succession),
  description: t.Optional(t.String()),
  dimension: t.Optional(t.String()),
  value: t.Optional(t.String()),
  values: t.Optional(t.Array(value)),
  open: t.Optional(t.Boolean()),
  source_type: t.Optional(t.String()),
  role: t.Optional(role),
  persons: t.Optional(t.Array(t.String())),
  precedence: t.Optional(t.Integer()),
});

const proposal = {
  proposal_id: t.String(),
  /** Version it builds on; 0: none was active. */
  base_version: t.Integer(),
  change: t.Array(operation),
  /** SHA-256 over base version, change and the ontology that it leads to: what an approver inspected (B43). */
  content_hash: t.String(),
  proposed_by: t.String(),
};

/** Stream `ontology-<workspace>`: proposals, and the versions that their approval made. */
const vocabulary = {
  OntologyProposed: {
    version: 1,
    schema: t.Object({ ...proposal, description: t.String() }),
  },
  OntologyChangeProposed: {
    version: 1,
    schema: t.Object({ ...proposal, reason: t.Optional(t.String()) }),
  },
  OntologyRollbackPrepared: {
    version: 1,
    schema: t.Object({
      proposal_id: t.String(),
      base_version: t.Integer(),
      to_version: t.Integer(),
      /** The ontology of that version with every later merge in it. */
      content,
      content_hash: t.String(),
      proposed_by: t.String(),
      reason: t.Optional(t.String()),
    }),
  },
  OntologyProposalApproved: {
    version: 1,
    schema: t.Object({
      proposal_id: t.String(),
      version: t.Integer(),
      content_hash: t.String(),
      reason: t.Optional(t.String()),
      /** Names that topics have from this version on and had not before. */
      named: t.Array(t.Object({ topic: t.String(), names: t.Array(t.String()) })),
      /** Merges that become due with this version. */
      merges: t.Array(merge),
    }),
  },
  OntologyProposalRejected: {
    version: 1,
    schema: t.Object({ proposal_id: t.String(), reason: t.String() }),
  },
} as const;

export const ontologyCodec = codec(vocabulary);
export type OntologyEvent = EventOf<typeof vocabulary>;
export type Succession = Static<typeof succession>;
export type OntologyTopic = Static<typeof topic>;
export type Dimension = Static<typeof dimension>;
export type DimensionValue = Static<typeof value>;
export type SourceType = Static<typeof sourceType>;
export type AuthorityRule = Static<typeof rule>;
export type Merge = Static<typeof merge>;
export type OntologyContent = Static<typeof content>;
export type StoredOperation = Static<typeof operation>;
