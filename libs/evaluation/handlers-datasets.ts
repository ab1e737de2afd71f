import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { randomUUID } from 'node:crypto';
import { originOf, Streams, type Executed } from '#event-store/streams.js';
import { assertGovernor, type Caller } from '#kernel/context.js';
import { derivedId } from '#kernel/json.js';
import type { DatasetReceipt, PrepareDatasetInput } from './contract.js';
import { assertContent, identityOf } from './domain/content.js';
import type { Dataset } from './domain/dataset.js';
import type { DatasetContent, DatasetEvent } from './domain/dataset.events.js';
import { PrepareDataset, ReviewDataset } from './messages.js';
import { datasetStream, datasetStreams } from './streams.js';

@CommandHandler(PrepareDataset)
export class PrepareDatasetHandler implements ICommandHandler<PrepareDataset> {
  constructor(private readonly streams: Streams) {}

  async execute({ caller, input }: PrepareDataset): Promise<DatasetReceipt> {
    assertMeasures(caller, 'prepare a dataset');
    const content = contentOf(input);
    assertContent(content);
    const { id, hash } = identityOf(content);
    const done = await this.streams.execute(
      datasetStreams,
      datasetStream(caller.workspace, id),
      { type: 'Prepare', id, hash, content, preparedBy: caller.principal },
      originOf(caller, derivedId('dataset', caller.workspace, hash)),
    );
    return receipt(done);
  }
}

@CommandHandler(ReviewDataset)
export class ReviewDatasetHandler implements ICommandHandler<ReviewDataset> {
  constructor(private readonly streams: Streams) {}

  async execute({ caller, input }: ReviewDataset): Promise<DatasetReceipt> {
    assertMeasures(caller, 'review a dataset');
    const { dataset_id: id, dataset_hash: hash, action, reason } = input;
    const done = await this.streams.execute(
      datasetStreams,
      datasetStream(caller.workspace, id),
      action === 'retire'
        ? { type: 'Retire', hash, reason }
        : {
            type: 'Approve',
            hash,
            reason,
            approver: caller.principal,
            fourEyes: caller.fourEyes,
          },
      originOf(caller, randomUUID()),
    );
    return receipt(done);
  }
}

/** O-07: who measures is who governs decisions under the organisation's mode; never an agent. */
export function assertMeasures(caller: Caller, what: string): void {
  const fix = 'ask an admin or owner of the workspace; get_intelligence shows what is there';
  assertGovernor(caller, what, fix);
}

/** Without the fields that are present but undefined, which a stored case does not have. */
function contentOf({ name, description, cases }: PrepareDatasetInput): DatasetContent {
  return JSON.parse(JSON.stringify({ name, description, cases })) as DatasetContent;
}

function receipt({ state, position }: Executed<Dataset, DatasetEvent>): DatasetReceipt {
  if (state.status === 'absent') throw new Error('a dataset is not there after it was stored');
  const { id, hash, status } = state;
  return { dataset_id: id, dataset_hash: hash, status, position: String(position) };
}
