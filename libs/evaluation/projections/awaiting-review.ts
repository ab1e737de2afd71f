import { awaitReview, endReview } from '#decisions/index.js';
import { when, type Meta } from '#projections/projection.js';
import type { Writes } from '#projections/read-database.js';
import { datasetCodec } from '../domain/dataset.events.js';

/** Drafts in the queue of what awaits a review, beside candidates and conflicts. */
export const datasetsAwaitingReview = when(datasetCodec, {
  DatasetPrepared(tables, data, meta) {
    const { length } = data.cases;
    awaitReview(tables, meta, {
      kind: 'dataset',
      id: data.dataset_id,
      statement: data.name,
      reasons: [`a draft of ${length} ${length === 1 ? 'case' : 'cases'} to measure the resolver`],
      content_hash: data.dataset_hash,
      proposed_by: data.prepared_by,
      since: meta.recordedAt,
    });
  },
  DatasetApproved: ended,
  DatasetRetired: ended,
});

function ended(tables: Writes, _data: unknown, meta: Meta): void {
  endReview(tables, meta, meta.stream.slice(`dataset-${meta.workspace}-`.length));
}
