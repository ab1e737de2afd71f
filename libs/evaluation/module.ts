import { Module } from '@nestjs/common';
import { EvaluationController } from './evaluation.controller.js';
import { ExportDatasetHandler, GetIntelligenceHandler } from './handlers.js';
import { PrepareDatasetHandler, ReviewDatasetHandler } from './handlers-datasets.js';
import { RunEvalHandler } from './handlers-runs.js';
import exportEvalDataset from './tools/export_eval_dataset.js';
import getIntelligence from './tools/get_intelligence.js';
import prepareEvalDataset from './tools/prepare_eval_dataset.js';
import reviewEvalDataset from './tools/review_eval_dataset.js';
import runEval from './tools/run_eval.js';

@Module({
  controllers: [EvaluationController],
  providers: [
    PrepareDatasetHandler,
    ReviewDatasetHandler,
    RunEvalHandler,
    GetIntelligenceHandler,
    ExportDatasetHandler,
  ],
})
export class EvaluationModule {}

export const evaluationTools = [
  prepareEvalDataset,
  reviewEvalDataset,
  runEval,
  getIntelligence,
  exportEvalDataset,
];
