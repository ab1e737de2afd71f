import { ERASED } from '#kernel/sealing.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { erasedOf } from '#sources/index.js';
import type { TimelineEntry } from '../contract.js';
import type { ClaimView, Known } from '../domain/claim-view.js';
import { covers, openerOf, topicOf as lineOf } from '../domain/claim.js';
import type { IsWithin } from '../domain/hierarchy.js';
import { topicCodec, type Scope } from '../domain/topic.events.js';
import { linesOf } from './topics.js';

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
  5,
  {
    // `append`: position of the first event of the append that the entry came with.
    timeline: `CREATE TABLE timeline (
      position INTEGER PRIMARY KEY, workspace TEXT NOT NULL, topic TEXT NOT NULL, append INTEGER NOT NULL,
      recorded_ms INTEGER NOT NULL, recorded_at TEXT NOT NULL, actor TEXT NOT NULL, decision TEXT NOT NULL, body TEXT NOT NULL);
      CREATE INDEX timeline_topic ON timeline (workspace, topic, position);
      CREATE INDEX timeline_order ON timeline (workspace, position, append, recorded_ms)`,
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
      add(tables, meta, {
        kind: 'superseded',
        id: data.decision_id,
        superseded_by: data.by,
        ...(data.reason === undefined ? {} : { reason: data.reason }),
      });
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
    ConflictDismissed(tables, data, meta) {
      add(tables, meta, { kind: 'conflict_dismissed', id: data.conflict_id, reason: data.reason });
    },
  }),
);

const topicOf = (meta: Meta): string => meta.stream.slice(`topic-${meta.workspace}-`.length);

function add(tables: Writes, meta: Meta, moment: Moment): void {
  // A conflict is shown with the claim that opened it: its id begins with that claim's.
  const decision = openerOf(moment.id);
  tables.run(
    'INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    meta.position,
    meta.workspace,
    // The topic it began in, also after that one was merged: as in `claims`.
    lineOf(decision) ?? topicOf(meta),
    meta.append,
    meta.recordedMs,
    meta.recordedAt,
    meta.actor.principal,
    decision,
    JSON.stringify(moment),
  );
}

export interface TimelinePage {
  entries: TimelineEntry[];
  /** Entries looked at, those that were not wanted among them. */
  read: number;
  /** Position to go on after, where there is more. */
  next?: number;
}

/** Entries of a topic and of those that were merged into it, after a position, oldest first. A cursor is a position, so writes in between neither repeat nor hide an entry. */
export function timelinePage(
  reads: Reads,
  workspace: string,
  topic: string,
  page: {
    after: number;
    limit: number;
    known: Known;
    scope: Scope | undefined;
    isWithin: IsWithin;
    /** What else is wanted of a decision, for its entries to be shown. */
    only?: (claim: ClaimView) => boolean;
  },
): TimelinePage {
  const lines = linesOf(reads, workspace, topic, page.known);
  const rows = reads.all(
    `SELECT t.position, t.recorded_at, t.actor, t.body, c.body AS claim FROM timeline t
       JOIN claim c ON c.workspace = t.workspace AND c.topic = t.topic AND c.id = t.decision
      WHERE t.workspace = ? AND t.topic IN (${lines.map(() => '?').join(', ')}) AND t.position > ? AND t.position <= ? AND t.recorded_ms <= ?
      ORDER BY t.position LIMIT ?`,
    workspace,
    ...lines,
    page.after,
    Math.min(page.known.position, Number.MAX_SAFE_INTEGER),
    Math.min(page.known.ms, Number.MAX_SAFE_INTEGER),
    page.limit + 1,
  );
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1)?.['position'] as number | undefined;
  const { only } = page;
  const entries = shown
    .filter((row) => !only || only(JSON.parse(row['claim'] as string) as ClaimView))
    .map((row) => entryOf(row))
    .filter((entry) => !page.scope || covers(entry.scope, page.scope, page.isWithin))
    .map((entry) => withErasure(reads, workspace, entry));
  return {
    entries,
    read: shown.length,
    ...(rows.length > page.limit && last !== undefined ? { next: last } : {}),
  };
}

function withErasure(reads: Reads, workspace: string, entry: TimelineEntry): TimelineEntry {
  if (entry.statement !== ERASED) return entry;
  const erased = erasedOf(reads, workspace, 'decision', openerOf(entry.decision_id));
  return erased ? { ...entry, erased } : entry;
}

/** From a row of `timeline` with the body of its claim as `claim`. */
export function entryOf(row: Record<string, null | number | string>): TimelineEntry {
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
