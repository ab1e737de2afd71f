import { unreachable, type Decider } from '#kernel/decider.js';
import { assertContent } from './content.js';
import type { DatasetContent, DatasetEvent } from './dataset.events.js';
import {
  datasetRetired,
  fourEyesRequired,
  notApproved,
  unknownDataset,
  versionMismatch,
} from './refusals.js';

export interface PreparedDataset {
  status: 'draft' | 'approved' | 'retired';
  id: string;
  hash: string;
  content: DatasetContent;
  preparedBy: string;
}

export type Dataset = { status: 'absent' } | PreparedDataset;

export type DatasetCommand =
  | { type: 'Prepare'; id: string; hash: string; content: DatasetContent; preparedBy: string }
  | { type: 'Approve'; hash: string; reason: string; approver: string; fourEyes: boolean }
  | { type: 'Retire'; hash: string; reason: string };

export const datasetDecider: Decider<Dataset, DatasetCommand, DatasetEvent> = {
  initial: () => ({ status: 'absent' }),
  decide(command, dataset) {
    switch (command.type) {
      case 'Prepare':
        return prepare(command, dataset);
      case 'Approve':
        return approve(command, dataset);
      case 'Retire':
        return retire(command, dataset);
      default:
        return unreachable(command);
    }
  },
  evolve(dataset, event) {
    switch (event.type) {
      case 'DatasetPrepared': {
        const {
          dataset_id: id,
          dataset_hash: hash,
          prepared_by: preparedBy,
          ...content
        } = event.data;
        return { status: 'draft', id, hash, content, preparedBy };
      }
      case 'DatasetApproved':
        return dataset.status === 'absent' ? dataset : { ...dataset, status: 'approved' };
      case 'DatasetRetired':
        return dataset.status === 'absent' ? dataset : { ...dataset, status: 'retired' };
      default:
        return unreachable(event);
    }
  },
};

/** The dataset, if it may be run and exported now (O-45, O-47, O-52). */
export function assertApproved(dataset: Dataset, hash: string | undefined): PreparedDataset {
  const found = inspected(dataset, hash);
  if (found.status === 'retired') throw datasetRetired();
  if (found.status === 'draft') throw notApproved();
  return found;
}

function inspected(dataset: Dataset, hash: string | undefined): PreparedDataset {
  if (dataset.status === 'absent') throw unknownDataset();
  if (hash !== undefined && hash !== dataset.hash) throw versionMismatch(dataset.hash);
  return dataset;
}

/** O-41: a draft. The id comes from the content, so what is there already says the same. */
function prepare(
  { id, hash, content, preparedBy }: Extract<DatasetCommand, { type: 'Prepare' }>,
  dataset: Dataset,
): DatasetEvent[] {
  assertContent(content);
  if (dataset.status !== 'absent') return [];
  const data = { ...content, dataset_id: id, dataset_hash: hash, prepared_by: preparedBy };
  return [{ type: 'DatasetPrepared', data }];
}

/** O-44, QO-17. */
function approve(
  { hash, reason, approver, fourEyes }: Extract<DatasetCommand, { type: 'Approve' }>,
  dataset: Dataset,
): DatasetEvent[] {
  const { status, preparedBy } = inspected(dataset, hash);
  if (status === 'retired') throw datasetRetired();
  if (fourEyes && approver === preparedBy) throw fourEyesRequired();
  return status === 'approved'
    ? []
    : [{ type: 'DatasetApproved', data: { dataset_hash: hash, reason } }];
}

function retire(
  { hash, reason }: Extract<DatasetCommand, { type: 'Retire' }>,
  dataset: Dataset,
): DatasetEvent[] {
  const { status } = inspected(dataset, hash);
  return status === 'retired'
    ? []
    : [{ type: 'DatasetRetired', data: { dataset_hash: hash, reason } }];
}
