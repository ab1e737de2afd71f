import { projection, when, type Meta, type Projection } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { wrongCursor } from '#kernel/refusal.js';
import type { Pending, PendingInput, PendingItem } from '../contract-review.js';
import { oneTopic } from './answering.js';
import { topicsNamed } from './topics.js';
import { isUnassigned } from '../domain/ingestion-plan.js';
import { ontologyCodec, type StoredOperation } from '../domain/ontology.events.js';
import { topicCodec } from '../domain/topic.events.js';

/** What other contexts have to say to the queue: handlers that call `awaitReview` and `endReview`. */
export type AwaitingReview = ReturnType<typeof when>;

const TABLES = {
  pending: `CREATE TABLE pending (
      workspace TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, topic TEXT NOT NULL, position INTEGER NOT NULL,
      body TEXT NOT NULL, PRIMARY KEY (workspace, id));
      CREATE INDEX pending_order ON pending (workspace, position);
      CREATE INDEX pending_kind ON pending (workspace, kind, position);
      CREATE INDEX pending_topic ON pending (workspace, topic, position)`,
};

/** Candidates, open conflicts, ontology proposals and what `others` add: all that waits for a reviewer, in the order of its arrival. */
export function reviewQueue(others: readonly AwaitingReview[]): Projection {
  return projection('review_queue', 5, TABLES, ofTopics, ofOntologies, ...others);
}

const ofTopics = when(topicCodec, {
  DecisionProposed(tables, data, meta) {
    // Without a reason to wait it is approved in the same append.
    if (data.reasons.length === 0) return;
    add(tables, meta, {
      kind: 'candidate',
      id: data.decision_id,
      statement: data.statement,
      ...(data.value === undefined
        ? {}
        : { value: data.value as NonNullable<PendingItem['value']> }),
      scope: data.scope,
      reasons: data.reasons,
      content_hash: data.content_hash,
      proposed_by: meta.actor.principal,
      since: meta.recordedAt,
    });
  },
  DecisionApproved(tables, data, meta) {
    endReview(tables, meta, data.decision_id);
  },
  DecisionConfirmed(tables, data, meta) {
    endReview(tables, meta, data.by);
  },
  DecisionRejected(tables, data, meta) {
    endReview(tables, meta, data.decision_id);
  },
  DecisionRetracted(tables, data, meta) {
    endReview(tables, meta, data.decision_id);
  },
  ConflictOpened(tables, data, meta) {
    add(tables, meta, {
      kind: 'conflict',
      id: data.conflict_id,
      reasons: [
        `${data.claims.join(' and ')} cannot both hold`,
        ...data.would_be_resolved_by.map((what) => `would be resolved by ${what}`),
      ],
      content_hash: '',
      proposed_by: meta.actor.principal,
      since: meta.recordedAt,
    });
  },
  ConflictResolved(tables, data, meta) {
    endReview(tables, meta, data.conflict_id);
  },
  TopicAbsorbed(tables, data, meta) {
    if (data.more) return;
    tables.run(
      `UPDATE pending SET topic = ?1, body = json_set(body, '$.topic', ?1) WHERE workspace = ?2 AND topic = ?3`,
      topicOfStream(meta),
      meta.workspace,
      data.topic,
    );
  },
});

const ofOntologies = when(ontologyCodec, {
  OntologyProposed(tables, data, meta) {
    addProposal(tables, meta, data, stepsOf(data.change));
  },
  OntologyChangeProposed(tables, data, meta) {
    addProposal(tables, meta, data, stepsOf(data.change));
  },
  OntologyRollbackPrepared(tables, data, meta) {
    addProposal(tables, meta, data, [`back to version ${data.to_version}`]);
  },
  OntologyProposalApproved(tables, _data, meta) {
    // All others build on a version that is outdated now, and can no longer be approved.
    tables.run(`DELETE FROM pending WHERE workspace = ? AND kind = 'ontology'`, meta.workspace);
  },
  OntologyProposalRejected(tables, data, meta) {
    endReview(tables, meta, data.proposal_id);
  },
});

const STEPS_SHOWN = 10;

function stepsOf(change: readonly StoredOperation[]): string[] {
  const steps = change.map((step) =>
    [step.op, step.topic ?? step.dimension ?? step.source_type, step.into ?? step.value]
      .filter((part) => part !== undefined)
      .join(' '),
  );
  const more = steps.length - STEPS_SHOWN;
  return [...steps.slice(0, STEPS_SHOWN), ...(more > 0 ? [`and ${more} more steps`] : [])];
}

function addProposal(
  tables: Writes,
  meta: Meta,
  data: { proposal_id: string; base_version: number; content_hash: string; reason?: string },
  steps: readonly string[],
): void {
  awaitReview(tables, meta, {
    kind: 'ontology',
    id: data.proposal_id,
    ...(data.reason === undefined ? {} : { statement: data.reason }),
    reasons: [`changes version ${data.base_version} of the ontology`, ...steps],
    content_hash: data.content_hash,
    proposed_by: meta.actor.principal,
    since: meta.recordedAt,
  });
}

function topicOfStream(meta: Meta): string {
  return meta.stream.slice(`topic-${meta.workspace}-`.length);
}

function add(tables: Writes, meta: Meta, item: PendingItem): void {
  const topic = topicOfStream(meta);
  awaitReview(tables, meta, { ...item, ...(isUnassigned(topic) ? {} : { topic }) }, topic);
}

/** Puts an item into the queue of the workspace; `topic` only narrows where it is listed. */
export function awaitReview(tables: Writes, meta: Meta, item: PendingItem, topic = ''): void {
  tables.run(
    'INSERT INTO pending VALUES (?, ?, ?, ?, ?, ?)',
    meta.workspace,
    item.id,
    item.kind,
    topic,
    meta.position,
    JSON.stringify(item),
  );
}

/** Ends the wait of an item; nothing where none waits. */
export function endReview(tables: Writes, meta: Meta, id: string): void {
  tables.run('DELETE FROM pending WHERE workspace = ? AND id = ?', meta.workspace, id);
}

/** O-30. Several items may share a position (one append), so a cursor is a position and an id. */
export function pending(
  reads: Reads,
  workspace: string,
  input: PendingInput,
  position: number,
): Pending {
  const limit = input.limit ?? 50;
  const after = cursorOf(input.cursor);
  const topic =
    input.topic === undefined
      ? undefined
      : oneTopic(topicsNamed(reads, workspace, input.topic), input.topic).topic;
  // The planner has no statistics: each filter names its index.
  const index = topic !== undefined ? 'topic' : input.kind !== undefined ? 'kind' : 'order';
  const rows = reads.all(
    `SELECT position, id, body FROM pending INDEXED BY pending_${index}
      WHERE workspace = ? ${topic === undefined ? '' : 'AND topic = ?'} ${input.kind === undefined ? '' : 'AND kind = ?'}
        AND (position, id) > (?, ?)
      ORDER BY position, id LIMIT ?`,
    workspace,
    ...(topic === undefined ? [] : [topic]),
    ...(input.kind === undefined ? [] : [input.kind]),
    after.position,
    after.id,
    limit + 1,
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => JSON.parse(row['body'] as string) as PendingItem),
    position: String(position),
    ...(rows.length > limit && last
      ? { next_cursor: `${last['position'] as number}.${last['id'] as string}` }
      : {}),
  };
}

function cursorOf(cursor: string | undefined): { position: number; id: string } {
  if (cursor === undefined) return { position: 0, id: '' };
  const match = /^(\d{1,15})\.(.+)$/u.exec(cursor);
  if (match) return { position: Number(match[1]), id: match[2] ?? '' };
  throw wrongCursor();
}
