import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import { CallerOf, Input, Operation, PartOf } from '#http/operation.js';
import {
  DatasetExport,
  DatasetReceipt,
  ExportInput,
  PrepareDatasetInput,
  ReviewDatasetInput,
  RunInput,
  RunReceipt,
} from './contract.js';
import {
  DatasetInput,
  DatasetsInput,
  Intelligence,
  RunViewInput,
} from './contract-intelligence.js';
import {
  ExportDataset,
  GetIntelligence,
  PrepareDataset,
  ReviewDataset,
  RunEval,
} from './messages.js';

@Controller('v1/evaluation')
@PartOf('evaluation')
export class EvaluationController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation(
    'POST',
    'datasets',
    'Store a draft set of questions with expected answers',
    PrepareDatasetInput,
    DatasetReceipt,
    201,
  )
  prepare(@CallerOf() caller: Caller, @Input() input: PrepareDatasetInput) {
    return this.commands.execute(new PrepareDataset(caller, input));
  }

  @Operation('GET', 'datasets', 'Datasets, latest first', DatasetsInput, Intelligence)
  datasets(@CallerOf() caller: Caller, @Input() input: DatasetsInput) {
    return this.queries.execute(new GetIntelligence(caller, input));
  }

  @Operation(
    'GET',
    'datasets/:dataset_id',
    'A dataset, its cases, reviews and runs',
    DatasetInput,
    Intelligence,
  )
  dataset(@CallerOf() caller: Caller, @Input() input: DatasetInput) {
    return this.queries.execute(new GetIntelligence(caller, input));
  }

  @Operation(
    'POST',
    'datasets/:dataset_id/reviews',
    'Approve the inspected version of a dataset, or retire it',
    ReviewDatasetInput,
    DatasetReceipt,
  )
  review(@CallerOf() caller: Caller, @Input() input: ReviewDatasetInput) {
    return this.commands.execute(new ReviewDataset(caller, input));
  }

  @Operation(
    'POST',
    'datasets/:dataset_id/runs',
    'Measure the resolver against an approved dataset',
    RunInput,
    RunReceipt,
    201,
  )
  run(@CallerOf() caller: Caller, @Input() input: RunInput) {
    return this.commands.execute(new RunEval(caller, input));
  }

  @Operation(
    'GET',
    'datasets/:dataset_id/export',
    'An approved dataset as JSONL, for evaluation only',
    ExportInput,
    DatasetExport,
  )
  export(@CallerOf() caller: Caller, @Input() input: ExportInput) {
    return this.queries.execute(new ExportDataset(caller, input));
  }

  @Operation(
    'GET',
    'runs/:run_id',
    'A run case by case, beside another one if wanted',
    RunViewInput,
    Intelligence,
  )
  runDetail(@CallerOf() caller: Caller, @Input() input: RunViewInput) {
    return this.queries.execute(new GetIntelligence(caller, input));
  }
}
