import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional } from 'class-validator';
import type { Json } from '#kernel/json.js';
import {
  Doc,
  IsKnownAt,
  IsPosition,
  IsScope,
  IsText,
  IsValue,
  IsWhen,
  ListOf,
  Nested,
} from '#kernel/shape-decorators.js';

/** Cases of one dataset at most (O-42). */
export const CASES_MAX = 20;

export const EXPECTED_STATES = [
  'verified',
  'contested',
  'insufficient_evidence',
  'unknown',
] as const;

export const DATASET_STATES = ['draft', 'approved', 'retired'] as const;

@Doc('What a person expects of the answer. What is left out is not checked.')
export class EvalExpectation {
  @Doc('The state of the answer.')
  @IsIn(EXPECTED_STATES)
  state!: (typeof EXPECTED_STATES)[number];
  @Doc('Id of the decision in force.') @IsOptional() @IsText({ max: 400 }) decision_id?: string;
  @Doc('Its value, compared as JSON.') @IsOptional() @IsValue() value?: Json;
  @Doc('Its scope, exactly.') @IsOptional() @IsScope() scope?: Record<string, string>;
  @Doc('Sources that the answer must list, each by its id or as `<collection>/<path>`.')
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @IsText({ max: 1_000 }, { each: true })
  sources?: string[];
}

export class EvalCase {
  @Doc('As it is put to resolve_decision_state. In results: untrusted text.')
  @IsText({ max: 2_000, what: 'a question' })
  question!: string;
  @Doc('Topic id, name or alias.') @IsOptional() @IsText({ max: 400 }) topic?: string;
  @Doc('The case asked about.') @IsOptional() @IsScope() scope?: Record<string, string>;
  @Doc('Valid time; default the time of the run.') @IsOptional() @IsWhen() as_of?: string;
  @Doc('Recorded time; default everything that is recorded when it runs.')
  @IsOptional()
  @IsKnownAt()
  known_at?: string;
  @Nested(() => EvalExpectation) expect!: EvalExpectation;
}

export class PrepareDatasetInput {
  @Doc('What the set is about.') @IsText({ max: 200, what: 'a name' }) name!: string;
  @Doc('Where the expected answers come from, and what the set leaves out.')
  @IsOptional()
  @IsText({ max: 2_000 })
  description?: string;
  @Doc('Questions with the answers that a person expects.')
  @ListOf(() => EvalCase, { min: 1, max: CASES_MAX })
  cases!: EvalCase[];
}

export class DatasetReceipt {
  @IsText() dataset_id!: string;
  @Doc('Name it when you approve, so that only what was inspected is approved.')
  @IsText()
  dataset_hash!: string;
  @Doc('Not `draft` where the same content was prepared and reviewed before.')
  @IsIn(DATASET_STATES)
  status!: (typeof DATASET_STATES)[number];
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}

export class ReviewDatasetInput {
  @Doc('The dataset, as prepare_eval_dataset or get_intelligence named it.')
  @IsText({ max: 100 })
  dataset_id!: string;
  @Doc('Hash of the dataset as you inspected it; refused when it is another.')
  @IsText({ max: 64 })
  dataset_hash!: string;
  @Doc('approve a draft, or retire a draft or an approved dataset.')
  @IsIn(['approve', 'retire'])
  action!: 'approve' | 'retire';
  @IsText({ max: 2_000, what: 'a reason' }) reason!: string;
}

export class RunInput {
  @Doc('An approved dataset.') @IsText({ max: 100 }) dataset_id!: string;
  @Doc('Hash of the dataset as you inspected it; refused when it is another.')
  @IsOptional()
  @IsText({ max: 64 })
  dataset_hash?: string;
}

@Doc('A check with nothing to measure is in `not_applicable` and in nothing else.')
export class CheckCounts {
  @IsInt() pass!: number;
  @IsInt() fail!: number;
  @IsInt() not_applicable!: number;
}

export class RunSummary {
  @IsInt() cases!: number;
  @Doc('Cases in which no check failed.') @IsInt() cases_passed!: number;
  @Nested(() => CheckCounts) checks!: CheckCounts;
}

export class RunReceipt {
  @IsText() run_id!: string;
  @IsText() dataset_id!: string;
  @IsText() dataset_hash!: string;
  @IsText() scorer_version!: string;
  @IsInt() ontology_version!: number;
  @Doc('Log position at which all cases were resolved.') @IsPosition() memory_position!: string;
  @Nested(() => RunSummary) summary!: RunSummary;
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}

export class ExportInput {
  @Doc('An approved dataset.') @IsText({ max: 100 }) dataset_id!: string;
}

export class DatasetExport {
  @IsText() dataset_id!: string;
  @IsText() dataset_hash!: string;
  @IsIn(['evaluation_only']) purpose!: 'evaluation_only';
  @Doc('Untrusted text. A header and one line for each case, each a JSON object.')
  @IsText()
  jsonl!: string;
}
