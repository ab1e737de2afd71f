import { wrongCursor } from '#kernel/refusal.js';
import { ERASED } from '#kernel/sealing.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Row, Writes } from '#projections/read-database.js';
import type {
  Ingestion,
  IngestionFinding,
  IngestionInput,
  RecordOutcome,
} from '../contract-ingestion.js';
import { ingestionCodec } from '../domain/ingestion.events.js';

/** Ingestion jobs and what became of each of their records. */
export const ingestions = projection(
  'ingestions',
  2,
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
    IngestionExtracted(tables, data, meta) {
      tables.run(
        'UPDATE ingestion SET total = total + ? WHERE workspace = ? AND job = ?',
        data.records,
        meta.workspace,
        jobOf(meta),
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

/** More than one job can hold. */
const EVERYTHING = 1_000_000;

/**
 * Undefined for a job that this workspace does not have. One page goes through the records and then through the findings;
 * records may still be added while a page is read, always behind those that were.
 */
export function ingestionView(
  reads: Reads,
  workspace: string,
  { job_id: job, cursor, limit = EVERYTHING }: IngestionInput,
): Omit<Ingestion, 'position'> | undefined {
  const row = reads.get('SELECT * FROM ingestion WHERE workspace = ? AND job = ?', workspace, job);
  if (!row) return undefined;
  const completed = row['completed_at'] as string | null;
  const all = findingsOf(JSON.parse(row['findings'] as string) as IngestionFinding[] | string);
  const after = cursorOf(cursor);
  const rows = after.inFindings ? [] : recordsAfter(reads, workspace, job, after, limit + 1);
  const records = rows.slice(0, limit).map(outcomeOf);
  const findings = all.slice(after.finding, after.finding + limit - records.length);
  const next = nextCursor(rows, limit, after.finding + findings.length, all.length);
  return {
    job_id: job,
    status: completed === null ? 'running' : 'completed',
    counts: {
      stored: row['stored'] as number,
      skipped: row['skipped'] as number,
      queued: row['queued'] as number,
    },
    records_total: row['total'] as number,
    records,
    findings,
    submitted_at: row['submitted_at'] as string,
    ...(completed === null ? {} : { completed_at: completed }),
    ...(next === undefined ? {} : { next_cursor: next }),
  };
}

/** In place of findings that cannot be read stands one that says so. */
function findingsOf(stored: IngestionFinding[] | string): IngestionFinding[] {
  if (typeof stored !== 'string') return stored;
  return [{ kind: stored === ERASED ? 'erased' : 'sealed', documents: [], detail: stored }];
}

interface Place {
  inFindings: boolean;
  index: number;
  topic: string;
  finding: number;
}

/** `r<index>.<topic>` is behind that record, `f<n>` before finding n. */
function cursorOf(cursor: string | undefined): Place {
  const start = { inFindings: false, index: -1, topic: '', finding: 0 };
  if (cursor === undefined) return start;
  const [, index, topic = ''] = /^r(\d{1,9})\.(.*)$/su.exec(cursor) ?? [];
  if (index !== undefined) return { ...start, index: Number(index), topic };
  const [, finding] = /^f(\d{1,9})$/.exec(cursor) ?? [];
  if (finding !== undefined) return { ...start, inFindings: true, finding: Number(finding) };
  throw wrongCursor();
}

function nextCursor(
  rows: readonly Row[],
  limit: number,
  finding: number,
  findings: number,
): string | undefined {
  const last = rows[limit - 1];
  if (rows.length > limit && last) return `r${last['idx'] as number}.${last['topic'] as string}`;
  return finding < findings ? `f${finding}` : undefined;
}

function recordsAfter(
  reads: Reads,
  workspace: string,
  job: string,
  { index, topic }: Place,
  most: number,
): Row[] {
  return reads.all(
    `SELECT * FROM ingestion_record
      WHERE workspace = ? AND job = ? AND (idx, topic) > (?, ?) ORDER BY idx, topic LIMIT ?`,
    workspace,
    job,
    index,
    topic,
    most,
  );
}

function outcomeOf(row: Row): RecordOutcome {
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
