import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import type { TimelineEntry } from '../contract.js';
import type { ClaimView, Known } from '../domain/resolver.js';
import { covers } from '../domain/claim.js';
import { topicCodec, type Scope } from '../domain/topic.events.js';

/** What is particular to the moment; the statement and its like come from the claim. */
interface Moment {
  kind: string;
  id: string;
  reason?: string;
  supersedes?: string[];
  superseded_by?: string;
}

/** Everything that happened in a topic, in the order of recording. */
export const timeline = projection(
  'timeline',
  1,
  {
    timeline: `CREATE TABLE timeline (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      recorded_at TEXT NOT NULL, actor TEXT NOT NULL, decision TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (workspace, topic, position)) WITHOUT ROWID`,
  },
  when(topicCodec, {
    DecisionProposed(tables, data, meta) {
      add(tables, meta, { kind: 'proposed', id: data.decision_id, supersedes: data.supersedes });
    },
    DecisionApproved(tables, data, meta) {
      const { decision_id: id, reason, supersedes } = data;
      add(tables, meta, { kind: 'approved', id, reason, supersedes });
    },
    DecisionConfirmed(tables, data, meta) {
      add(tables, meta, {
        kind: 'confirmed',
        id: data.decision_id,
        reason: `${data.by} says the same: ${data.reason}`,
      });
    },
    DecisionSuperseded(tables, data, meta) {
      add(tables, meta, { kind: 'superseded', id: data.decision_id, superseded_by: data.by });
    },
    DecisionRevoked(tables, data, meta) {
      add(tables, meta, { kind: 'revoked', id: data.decision_id, reason: data.reason });
    },
    DecisionRejected(tables, data, meta) {
      add(tables, meta, { kind: 'rejected', id: data.decision_id, reason: data.reason });
    },
    DecisionRetracted(tables, data, meta) {
      add(tables, meta, { kind: 'retracted', id: data.decision_id, reason: data.reason });
    },
    ConflictOpened(tables, data, meta) {
      const reason = `${data.claims.join(' and ')} cannot both hold`;
      add(tables, meta, { kind: 'conflict_opened', id: data.conflict_id, reason });
    },
    ConflictResolved(tables, data, meta) {
      add(tables, meta, { kind: 'conflict_resolved', id: data.conflict_id, reason: data.reason });
    },
  }),
);

function add(tables: Writes, meta: Meta, moment: Moment): void {
  tables.run(
    'INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    meta.workspace,
    meta.stream.slice(`topic-${meta.workspace}-`.length),
    meta.position,
    meta.recordedMs,
    meta.recordedAt,
    meta.actor.principal,
    // A conflict is shown with the claim that opened it: its id begins with that claim's.
    moment.id.replace(/\.c\d+$/, ''),
    JSON.stringify(moment),
  );
}

export interface TimelinePage {
  entries: TimelineEntry[];
  /** Position to go on after, where there is more. */
  next?: number;
}

/** Entries after a position, oldest first. A cursor is a position, so writes in between neither repeat nor hide an entry. */
export function timelinePage(
  reads: Reads,
  workspace: string,
  topic: string,
  page: { after: number; limit: number; known: Known; scope: Scope | undefined },
): TimelinePage {
  const rows = reads.all(
    `SELECT t.position, t.recorded_at, t.actor, t.body, c.body AS claim FROM timeline t
       JOIN claim c ON c.workspace = t.workspace AND c.topic = t.topic AND c.id = t.decision
      WHERE t.workspace = ? AND t.topic = ? AND t.position > ? AND t.position <= ? AND t.recorded_ms <= ?
      ORDER BY t.position LIMIT ?`,
    workspace,
    topic,
    page.after,
    Math.min(page.known.position, Number.MAX_SAFE_INTEGER),
    Math.min(page.known.ms, Number.MAX_SAFE_INTEGER),
    page.limit + 1,
  );
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1)?.['position'] as number | undefined;
  const entries = shown
    .map((row) => entryOf(row))
    .filter((entry) => !page.scope || covers(entry.scope, page.scope));
  return { entries, ...(rows.length > page.limit && last !== undefined ? { next: last } : {}) };
}

function entryOf(row: Record<string, null | number | string>): TimelineEntry {
  const moment = JSON.parse(row['body'] as string) as Moment;
  const claim = JSON.parse(row['claim'] as string) as ClaimView;
  return {
    position: String(row['position']),
    recorded_at: row['recorded_at'] as string,
    kind: moment.kind,
    decision_id: moment.id,
    statement: claim.statement,
    ...(claim.value === undefined ? {} : { value: claim.value }),
    scope: claim.scope,
    ...(claim.effective_from === undefined ? {} : { effective_from: claim.effective_from }),
    ...(claim.effective_to === undefined ? {} : { effective_to: claim.effective_to }),
    actor: row['actor'] as string,
    ...(moment.reason === undefined ? {} : { reason: moment.reason }),
    supersedes: moment.supersedes ?? [],
    ...(moment.superseded_by === undefined ? {} : { superseded_by: moment.superseded_by }),
    source_ids: [...new Set(claim.evidence.map((e) => e.source_id))],
  };
}
