import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { invalid, Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import type { DatasetExport } from './contract.js';
import type { Intelligence } from './contract-intelligence.js';
import { assertApproved } from './domain/dataset.js';
import { exported, PURPOSE } from './domain/export.js';
import { ExportDataset, GetIntelligence } from './messages.js';
import { datasetPage, datasetsPage, runPage } from './projections/views.js';
import { datasetStream, datasetStreams } from './streams.js';

@QueryHandler(GetIntelligence)
export class GetIntelligenceHandler implements IQueryHandler<GetIntelligence> {
  constructor(private readonly models: ReadModels) {}

  async execute({ caller: { workspace }, input }: GetIntelligence): Promise<Intelligence> {
    const { dataset_id: dataset, run_id: run, compare_to: other } = input;
    if (other !== undefined && run === undefined)
      throw invalid('compare_to', 'needs a run to compare', 'name the run with run_id');
    return this.models.read(
      (reads, at) => {
        const page =
          run !== undefined
            ? runPage(reads, workspace, { ...input, run_id: run })
            : dataset !== undefined
              ? datasetPage(reads, workspace, { ...input, dataset_id: dataset })
              : datasetsPage(reads, workspace, input);
        return { ...page, position: String(at) };
      },
      Number(input.at_least ?? 0),
    );
  }
}

/** From the dataset's own stream: what was retired a moment ago is not exported. */
@QueryHandler(ExportDataset)
export class ExportDatasetHandler implements IQueryHandler<ExportDataset> {
  constructor(private readonly streams: Streams) {}

  async execute({ caller, input }: ExportDataset): Promise<DatasetExport> {
    assertOwner(caller);
    const stream = datasetStream(caller.workspace, input.dataset_id);
    const { state } = await this.streams.load(datasetStreams, stream);
    const dataset = assertApproved(state, undefined);
    return {
      dataset_id: dataset.id,
      dataset_hash: dataset.hash,
      purpose: PURPOSE,
      jsonl: exported(dataset),
    };
  }
}

/** O-52. */
function assertOwner({ kind, role }: Caller): void {
  if (kind !== 'agent' && role === 'owner') return;
  throw new Refusal('forbidden', 'requires_owner', 'only an owner exports datasets', {
    fix: 'ask an owner of the workspace; get_intelligence shows the cases',
  });
}
