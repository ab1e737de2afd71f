import { Command, Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type {
  DatasetExport,
  DatasetReceipt,
  ExportInput,
  PrepareDatasetInput,
  ReviewDatasetInput,
  RunInput,
  RunReceipt,
} from './contract.js';
import type { Intelligence, IntelligenceInput } from './contract-intelligence.js';

/** Stores a draft. The resolver is not asked. */
export class PrepareDataset extends Command<DatasetReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: PrepareDatasetInput,
  ) {
    super();
  }
}

export class ReviewDataset extends Command<DatasetReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: ReviewDatasetInput,
  ) {
    super();
  }
}

/** `progress` is told how many cases of how many are measured. */
export class RunEval extends Command<RunReceipt> {
  constructor(
    readonly caller: Caller,
    readonly input: RunInput,
    readonly progress: (done: number, total: number) => void = () => undefined,
  ) {
    super();
  }
}

export class GetIntelligence extends Query<Intelligence> {
  constructor(
    readonly caller: Caller,
    readonly input: IntelligenceInput,
  ) {
    super();
  }
}

export class ExportDataset extends Query<DatasetExport> {
  constructor(
    readonly caller: Caller,
    readonly input: ExportInput,
  ) {
    super();
  }
}
