import type { Json } from '#kernel/json.js';
import { FOREVER } from '#kernel/time.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { rowKey } from '#projections/row-key.js';
import { openerOf, topicOf } from '../domain/claim.js';
import { everHeld, type ClaimView, type ConflictView, type EndKind } from '../domain/claim-view.js';
import { topicCodec, type Proposed } from '../domain/topic.events.js';
import { forkOf } from './knowledge.js';

/**
 * Claims and conflicts of every topic, each with all that happened to it: what the resolver works on.
 * `end_ms` is the present end of validity, so that the heads of a topic are one short index range however long its history is.
 * Rows are long: with the position as their key they stand one behind the other, and what is sought goes through short indexes.
 * `line`: the row key of workspace and topic.
 * `held`: 1 for a claim that was in force at some time, as far as anybody ever knew. `ended_position`: its last end was recorded there;
 * `fork` places the stretch of the log from its approval to that end (`knowledge.ts`).
 */
export const claims = projection(
  'claims',
  6,
  {
    claim: `CREATE TABLE claim (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, id TEXT NOT NULL, line INTEGER NOT NULL,
      state TEXT NOT NULL, held INTEGER NOT NULL, approved_position INTEGER, start_ms INTEGER, end_ms INTEGER,
      ended_position INTEGER, fork INTEGER, position INTEGER PRIMARY KEY, body TEXT NOT NULL);
      CREATE UNIQUE INDEX claim_id ON claim (workspace, topic, id);
      CREATE INDEX claim_line ON claim (line);
      CREATE INDEX claim_validity ON claim (line, end_ms, start_ms) WHERE held = 1;
      CREATE INDEX claim_approved ON claim (line, approved_position) WHERE held = 1;
      CREATE INDEX claim_before ON claim (line, fork, ended_position) WHERE fork IS NOT NULL;
      CREATE INDEX claim_after ON claim (line, fork, approved_position) WHERE fork IS NOT NULL;
      CREATE INDEX claim_candidate ON claim (line) WHERE state = 'candidate'`,
    // What `by` says of `claim`, in whatever topic.
    claim_relation: `CREATE TABLE claim_relation (
      workspace TEXT NOT NULL, claim TEXT NOT NULL, by TEXT NOT NULL, kind TEXT NOT NULL,
      PRIMARY KEY (workspace, claim, by, kind)) WITHOUT ROWID`,
    conflict: `CREATE TABLE conflict (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL,
      position INTEGER PRIMARY KEY, body TEXT NOT NULL);
      CREATE UNIQUE INDEX conflict_id ON conflict (workspace, topic, id);
      CREATE INDEX conflict_order ON conflict (workspace, position, id);
      CREATE INDEX conflict_topic ON conflict (workspace, topic, position, id);
      CREATE INDEX conflict_open ON conflict (workspace, topic, position, id) WHERE status = 'open';
      CREATE INDEX conflict_status ON conflict (workspace, status, position, id)`,
    conflict_claim: `CREATE TABLE conflict_claim (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, claim TEXT NOT NULL, conflict TEXT NOT NULL,
      PRIMARY KEY (workspace, topic, claim, conflict)) WITHOUT ROWID`,
    claim_tally: `CREATE TABLE claim_tally (
      workspace TEXT PRIMARY KEY, decisions INTEGER NOT NULL, heads INTEGER NOT NULL, candidates INTEGER NOT NULL,
      open_conflicts INTEGER NOT NULL) WITHOUT ROWID`,
  },
  when(topicCodec, {
    DecisionProposed(tables, data, meta) {
      const { reasons, evidence, relations, keys: _keys, document_key: _key, ...said } = data;
      const view = { ...said, topic: lineOf(meta, data.decision_id), evidence, relations, reasons };
      insert(tables, view, meta);
      for (const { kind, decision_id: claim } of relations)
        tables.run(
          'INSERT OR IGNORE INTO claim_relation VALUES (?, ?, ?, ?)',
          meta.workspace,
          claim,
          data.decision_id,
          kind,
        );
      tally(tables, meta, { decisions: 1, candidates: 1 });
    },
    DecisionApproved(tables, data, meta) {
      const { position, claim } = read(tables, meta, data.decision_id);
      if (data.effective_from !== undefined) claim.effective_from = data.effective_from;
      if (data.effective_to !== undefined) claim.effective_to = data.effective_to;
      claim.approval = {
        ...factOf(meta),
        revision: meta.revision,
        reason: data.reason,
        startMs: Date.parse(data.starts_at),
        endMs: data.ends_at === undefined ? FOREVER : Date.parse(data.ends_at),
        command: meta.causation,
      };
      write(tables, { position, state: 'approved', claim });
      tally(tables, meta, { candidates: -1, heads: 1 });
    },
    DecisionSuperseded(tables, data, meta) {
      const before = end(tables, meta, data.decision_id, 'superseded', {
        fromMs: Date.parse(data.ends_at),
        successor: data.by,
        ...(data.reason === undefined ? {} : { reason: data.reason }),
      });
      tally(tables, meta, { heads: before === 'approved' ? -1 : 0 });
    },
    DecisionRevoked(tables, data, meta) {
      const before = end(tables, meta, data.decision_id, 'revoked', {
        fromMs: Date.parse(data.ends_at),
        reason: data.reason,
      });
      tally(tables, meta, { heads: before === 'approved' ? -1 : 0 });
    },
    DecisionRejected(tables, data, meta) {
      end(tables, meta, data.decision_id, 'rejected', { fromMs: FOREVER, reason: data.reason });
      tally(tables, meta, { candidates: -1 });
    },
    DecisionRetracted(tables, data, meta) {
      end(tables, meta, data.decision_id, 'retracted', { fromMs: FOREVER, reason: data.reason });
      tally(tables, meta, { candidates: -1 });
    },
    DecisionConfirmed(tables, data, meta) {
      const { evidence } = read(tables, meta, data.by).claim;
      end(tables, meta, data.by, 'confirming', {
        fromMs: FOREVER,
        successor: data.decision_id,
        reason: data.reason,
      });
      const confirmed = read(tables, meta, data.decision_id);
      confirmed.claim.confirmations.push({ ...factOf(meta), decision_id: data.by, evidence });
      write(tables, confirmed);
      tally(tables, meta, { candidates: -1 });
    },
    ConflictOpened(tables, data, meta) {
      const view: ConflictView = {
        conflict_id: data.conflict_id,
        topic: lineOf(meta, data.conflict_id),
        kind: data.kind,
        claims: data.claims,
        would_be_resolved_by: data.would_be_resolved_by,
        opened: factOf(meta),
      };
      tables.run(
        `INSERT INTO conflict VALUES (?, ?, ?, 'open', ?, ?)`,
        meta.workspace,
        view.topic,
        view.conflict_id,
        meta.position,
        JSON.stringify(view),
      );
      for (const claim of view.claims)
        tables.run(
          'INSERT OR IGNORE INTO conflict_claim VALUES (?, ?, ?, ?)',
          meta.workspace,
          view.topic,
          claim,
          view.conflict_id,
        );
      tally(tables, meta, { open_conflicts: 1 });
    },
    ConflictResolved(tables, data, meta) {
      close(tables, meta, data.conflict_id, {
        how: 'resolved',
        reason: data.reason,
        ...(data.winner === undefined ? {} : { winner: data.winner }),
      });
    },
    ConflictDismissed(tables, data, meta) {
      close(tables, meta, data.conflict_id, { how: 'dismissed', reason: data.reason });
    },
  }),
);

function close(
  tables: Writes,
  meta: Meta,
  id: string,
  how: Omit<NonNullable<ConflictView['closed']>, keyof ConflictView['opened']>,
): void {
  const where = [meta.workspace, lineOf(meta, id), id] as const;
  const row = tables.get(
    'SELECT body FROM conflict WHERE workspace = ? AND topic = ? AND id = ?',
    ...where,
  );
  const view = JSON.parse(row?.['body'] as string) as ConflictView;
  view.closed = { ...factOf(meta), ...how };
  tables.run(
    'UPDATE conflict SET status = ?, body = ? WHERE workspace = ? AND topic = ? AND id = ?',
    how.how,
    JSON.stringify(view),
    ...where,
  );
  tally(tables, meta, { open_conflicts: -1 });
}

/** The topic that a decision or conflict began in. It stays there when the topic is merged into another, whose stream decides about it then. */
function lineOf(meta: Meta, id: string): string {
  return topicOf(openerOf(id)) ?? meta.stream.slice(`topic-${meta.workspace}-`.length);
}

function factOf(meta: Meta): ClaimView['proposed'] {
  return {
    position: meta.position,
    ms: meta.recordedMs,
    at: meta.recordedAt,
    by: meta.actor.principal,
  };
}

function insert(
  tables: Writes,
  said: Omit<Proposed, 'value'> & { topic: string; value?: unknown },
  meta: Meta,
): void {
  const { origin: _origin, proposed_by: _by, supersedes: _supersedes, value, ...rest } = said;
  const view: ClaimView = {
    ...rest,
    ...(value === undefined ? {} : { value: value as Json }),
    proposed: factOf(meta),
    ends: [],
    confirmations: [],
  };
  tables.run(
    `INSERT INTO claim VALUES (?, ?, ?, ?, 'candidate', 0, NULL, NULL, NULL, NULL, NULL, ?, ?)`,
    meta.workspace,
    view.topic,
    view.decision_id,
    rowKey(meta.workspace, view.topic),
    meta.position,
    JSON.stringify(view),
  );
}

interface Stored {
  /** Its key. */
  position: number;
  state: string;
  claim: ClaimView;
}

function read(tables: Reads, meta: Meta, id: string): Stored {
  const row = tables.get(
    'SELECT position, state, body FROM claim WHERE workspace = ? AND topic = ? AND id = ?',
    meta.workspace,
    lineOf(meta, id),
    id,
  );
  if (!row) throw new Error(`${id} was not proposed`);
  return {
    position: row['position'] as number,
    state: row['state'] as string,
    claim: JSON.parse(row['body'] as string) as ClaimView,
  };
}

function write(tables: Writes, { position, state, claim }: Stored): void {
  tables.run(
    `UPDATE claim SET state = ?, held = ?, approved_position = ?, start_ms = ?, end_ms = ?, ended_position = ?, fork = ?, body = ?
      WHERE position = ?`,
    state,
    everHeld(claim) ? 1 : 0,
    ...stretchOf(claim),
    JSON.stringify(claim),
    position,
  );
}

/** `approved_position`, `start_ms`, `end_ms`, `ended_position` and `fork`. */
function stretchOf({ approval, ends }: ClaimView): (number | null)[] {
  if (!approval) return [null, null, null, null, null];
  const { position, startMs } = approval;
  const endMs = Math.max(startMs, Math.min(approval.endMs, ...ends.map((e) => e.fromMs)));
  const ended = ends.at(-1)?.position;
  return [
    position,
    startMs,
    endMs,
    ended ?? null,
    ended === undefined ? null : forkOf(position, ended - 1),
  ];
}

/** Returns the state that the claim had before. */
function end(
  tables: Writes,
  meta: Meta,
  id: string,
  kind: EndKind,
  how: { fromMs: number; successor?: string; reason?: string },
): string {
  const { position, state, claim } = read(tables, meta, id);
  const atOnce = claim.approval?.command === meta.causation;
  claim.ends.push({ ...factOf(meta), kind, ...how, ...(atOnce ? { atOnce } : {}) });
  // A revocation stays one, whatever shortens it further.
  write(tables, { position, state: state === 'revoked' ? state : kind, claim });
  return state;
}

export type Tally = 'decisions' | 'heads' | 'candidates' | 'open_conflicts';

function tally(tables: Writes, meta: Meta, by: Partial<Record<Tally, number>>): void {
  tables.run(
    `INSERT INTO claim_tally VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (workspace) DO UPDATE SET
      decisions = decisions + ?2, heads = heads + ?3, candidates = candidates + ?4, open_conflicts = open_conflicts + ?5`,
    meta.workspace,
    by.decisions ?? 0,
    by.heads ?? 0,
    by.candidates ?? 0,
    by.open_conflicts ?? 0,
  );
}
