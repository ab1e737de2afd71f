import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import type { Ingestion, IngestionFinding, RecordOutcome } from '../contract-ingestion.js';
import { ingestionCodec } from '../domain/ingestion.events.js';

/** Ingestion jobs and what became of each of their records. */
export const ingestions = projection(
  'ingestions',
  1,
  {
    ingestion: `CREATE TABLE ingestion (
      workspace TEXT NOT NULL, job TEXT NOT NULL, total INTEGER NOT NULL,
      stored INTEGER NOT NULL, skipped INTEGER NOT NULL, queued INTEGER NOT NULL,
      submitted_at TEXT NOT NULL, completed_at TEXT, findings TEXT NOT NULL,
      PRIMARY KEY (workspace, job)) WITHOUT ROWID`,
    ingestion_record: `CREATE TABLE ingestion_record (
      workspace TEXT NOT NULL, job TEXT NOT NULL, idx INTEGER NOT NULL, topic TEXT NOT NULL, outcome TEXT NOT NULL,
      path TEXT, decision TEXT, reason TEXT,
      PRIMARY KEY (workspace, job, idx, topic)) WITHOUT ROWID`,
  },
  when(ingestionCodec, {
    IngestionSubmitted(tables, data, meta) {
      tables.run(
        `INSERT INTO ingestion VALUES (?, ?, ?, 0, 0, 0, ?, NULL, '[]')`,
        meta.workspace,
        data.job_id,
        data.records_total,
        meta.recordedAt,
      );
    },
    IngestionRecordStored(tables, data, meta) {
      record(tables, meta, 'stored', { ...data, reason: data.note });
    },
    IngestionRecordSkipped(tables, data, meta) {
      record(tables, meta, 'skipped', data);
    },
    IngestionRecordQueued(tables, data, meta) {
      record(tables, meta, 'queued', { ...data, reason: data.reasons.join(', ') });
    },
    IngestionCompleted(tables, data, meta) {
      tables.run(
        'UPDATE ingestion SET completed_at = ?, findings = ? WHERE workspace = ? AND job = ?',
        meta.recordedAt,
        JSON.stringify(data.findings),
        meta.workspace,
        jobOf(meta),
      );
    },
  }),
);

function jobOf(meta: Meta): string {
  return meta.stream.slice(`ingestion-${meta.workspace}-`.length);
}

function record(
  tables: Writes,
  meta: Meta,
  outcome: 'stored' | 'skipped' | 'queued',
  data: {
    index: number;
    path?: string;
    topic?: string;
    decision_id?: string;
    reason?: string | undefined;
  },
): void {
  tables.run(
    'INSERT INTO ingestion_record VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    meta.workspace,
    jobOf(meta),
    data.index,
    data.topic ?? '',
    outcome,
    data.path ?? null,
    data.decision_id ?? null,
    data.reason ?? null,
  );
  tables.run(
    `UPDATE ingestion SET ${outcome} = ${outcome} + 1 WHERE workspace = ? AND job = ?`,
    meta.workspace,
    jobOf(meta),
  );
}

/** Undefined for a job that this workspace does not have. */
export function ingestionView(
  reads: Reads,
  workspace: string,
  job: string,
): Omit<Ingestion, 'position'> | undefined {
  const row = reads.get('SELECT * FROM ingestion WHERE workspace = ? AND job = ?', workspace, job);
  if (!row) return undefined;
  const completed = row['completed_at'] as string | null;
  const records = reads.all(
    'SELECT * FROM ingestion_record WHERE workspace = ? AND job = ? ORDER BY idx, topic',
    workspace,
    job,
  );
  return {
    job_id: job,
    status: completed === null ? 'running' : 'completed',
    counts: {
      stored: row['stored'] as number,
      skipped: row['skipped'] as number,
      queued: row['queued'] as number,
    },
    records_total: row['total'] as number,
    records: records.map(outcomeOf),
    findings: JSON.parse(row['findings'] as string) as IngestionFinding[],
    submitted_at: row['submitted_at'] as string,
    ...(completed === null ? {} : { completed_at: completed }),
  };
}

function outcomeOf(row: Record<string, null | number | string>): RecordOutcome {
  const text = (column: string): string | undefined => (row[column] as string | null) ?? undefined;
  const [reason, decision_id, path] = [text('reason'), text('decision'), text('path')];
  const topic = text('topic');
  return {
    index: row['idx'] as number,
    outcome: row['outcome'] as RecordOutcome['outcome'],
    ...(reason === undefined ? {} : { reason }),
    ...(decision_id === undefined ? {} : { decision_id }),
    ...(topic === undefined || topic === '' ? {} : { topic }),
    ...(path === undefined ? {} : { path }),
  };
}
