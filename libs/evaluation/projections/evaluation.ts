import { projection, when, type Meta } from '#projections/projection.js';
import type { Writes } from '#projections/read-database.js';
import { datasetCodec } from '../domain/dataset.events.js';
import { evalrunCodec } from '../domain/evalrun.events.js';

/** Datasets with their reviews, and completed runs. `review` columns and bodies are JSON. */
export const evaluation = projection(
  'evaluation',
  2,
  {
    eval_dataset: `CREATE TABLE eval_dataset (
      workspace TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, status TEXT NOT NULL, hash TEXT NOT NULL,
      name TEXT NOT NULL, description TEXT, prepared_by TEXT NOT NULL, prepared_at TEXT NOT NULL,
      approved TEXT, retired TEXT, cases TEXT NOT NULL, PRIMARY KEY (workspace, id)) WITHOUT ROWID;
      CREATE INDEX eval_dataset_order ON eval_dataset (workspace, position)`,
    eval_run: `CREATE TABLE eval_run (
      workspace TEXT NOT NULL, id TEXT NOT NULL, dataset TEXT NOT NULL, position INTEGER NOT NULL,
      head TEXT NOT NULL, cases TEXT NOT NULL, PRIMARY KEY (workspace, id)) WITHOUT ROWID;
      CREATE INDEX eval_run_order ON eval_run (workspace, dataset, position)`,
  },
  when(datasetCodec, {
    DatasetPrepared(tables, data, meta) {
      tables.run(
        `INSERT INTO eval_dataset VALUES (?, ?, ?, 'draft', ?, ?, ?, ?, ?, NULL, NULL, ?)`,
        meta.workspace,
        data.dataset_id,
        meta.position,
        data.dataset_hash,
        data.name,
        data.description ?? null,
        data.prepared_by,
        meta.recordedAt,
        JSON.stringify(data.cases),
      );
    },
    DatasetApproved(tables, data, meta) {
      review(tables, 'approved', data.reason, meta);
    },
    DatasetRetired(tables, data, meta) {
      review(tables, 'retired', data.reason, meta);
    },
  }),
  when(evalrunCodec, {
    EvalRunCompleted(tables, data, meta) {
      const { cases, memory_position, ...head } = data;
      tables.run(
        'INSERT INTO eval_run VALUES (?, ?, ?, ?, ?, ?)',
        meta.workspace,
        data.run_id,
        data.dataset_id,
        meta.position,
        JSON.stringify({
          ...head,
          memory_position: String(memory_position),
          run_by: meta.actor.principal,
          run_at: meta.recordedAt,
        }),
        JSON.stringify(cases),
      );
    },
  }),
);

function review(tables: Writes, status: 'approved' | 'retired', reason: string, meta: Meta): void {
  tables.run(
    `UPDATE eval_dataset SET status = ?, ${status} = ? WHERE workspace = ? AND id = ?`,
    status,
    JSON.stringify({ by: meta.actor.principal, at: meta.recordedAt, reason }),
    meta.workspace,
    meta.stream.slice(`dataset-${meta.workspace}-`.length),
  );
}
