import { IsArray, IsBoolean, IsIn, IsInt, IsOptional } from 'class-validator';
import type { Json } from '#kernel/json.js';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import {
  Doc,
  IsPosition,
  IsScope,
  IsText,
  IsValue,
  IsWhen,
  ListOf,
  Nested,
} from '#kernel/shape-decorators.js';
import { DATASET_STATES, EvalCase, RunSummary } from './contract.js';

export class DatasetsInput {
  @PageCursor(20) cursor?: string;
  @PageLimit('Datasets, runs or cases in the page at most; default 50.') limit?: number;
  @IsOptional() @IsPosition() at_least?: string;
}

export class DatasetInput extends DatasetsInput {
  @IsText({ max: 100 }) dataset_id!: string;
}

export class RunViewInput extends DatasetsInput {
  @IsText({ max: 100 }) run_id!: string;
  @Doc('An earlier run of the same dataset, to compare case by case.')
  @IsOptional()
  @IsText({ max: 100 })
  compare_to?: string;
}

export class IntelligenceInput extends DatasetsInput {
  @Doc('This dataset, with its cases and runs. Without it and without a run: all datasets.')
  @IsOptional()
  @IsText({ max: 100 })
  dataset_id?: string;
  @Doc('This run, case by case.') @IsOptional() @IsText({ max: 100 }) run_id?: string;
  @Doc('An earlier run of the same dataset, to compare case by case.')
  @IsOptional()
  @IsText({ max: 100 })
  compare_to?: string;
}

export class DatasetReview {
  @IsText() by!: string;
  @IsWhen() at!: string;
  @Doc('Untrusted text.') @IsText({ max: 2_000 }) reason!: string;
}

export class RunView {
  @IsText() run_id!: string;
  @IsText() dataset_id!: string;
  @IsText() dataset_hash!: string;
  @IsText() scorer_version!: string;
  @IsInt() ontology_version!: number;
  @Doc('Log position at which all cases were resolved.') @IsPosition() memory_position!: string;
  @IsText() run_by!: string;
  @IsWhen() run_at!: string;
  @Nested(() => RunSummary) summary!: RunSummary;
}

export class DatasetView {
  @IsText() dataset_id!: string;
  @IsText() dataset_hash!: string;
  @Doc('Untrusted text.') @IsText({ max: 200 }) name!: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) description?: string;
  @IsIn(DATASET_STATES) status!: (typeof DATASET_STATES)[number];
  @IsInt() case_count!: number;
  @IsText() prepared_by!: string;
  @IsWhen() prepared_at!: string;
  @IsOptional() @Nested(() => DatasetReview) approved?: DatasetReview;
  @IsOptional() @Nested(() => DatasetReview) retired?: DatasetReview;
  @IsInt() run_count!: number;
  @IsOptional() @Nested(() => RunView) latest_run?: RunView;
}

export class CheckResult {
  @IsIn(['state', 'decision', 'scope', 'sources', 'excerpts']) check!: string;
  @Doc('not_applicable: there was nothing to measure; counted as neither.')
  @IsIn(['pass', 'fail', 'not_applicable'])
  result!: string;
  @Doc('Why it failed.') @IsOptional() @IsText({ max: 200 }) detail?: string;
}

@Doc('What the resolver answered, as far as the checks looked at it.')
export class ObservedAnswer {
  @IsText() state!: string;
  @Doc('Why this state. Untrusted text.') @IsText({ max: 8_000 }) reason!: string;
  @IsOptional() @IsText() topic?: string;
  @IsOptional() @IsText() decision_id?: string;
  @Doc('Untrusted text.') @IsOptional() @IsValue() value?: Json;
  @Doc('SHA-256 of a value that is too long to be kept.')
  @IsOptional()
  @IsText()
  value_sha256?: string;
  @IsOptional() @IsScope() scope?: Record<string, string>;
  @Doc('Ids of the sources listed, the first 20.')
  @IsArray()
  @IsText({}, { each: true })
  sources!: string[];
  @IsInt() sources_total!: number;
  @IsInt() excerpts_total!: number;
  @Doc('Excerpts that name a source which is not listed, or are not found in it.')
  @IsInt()
  excerpts_unresolved!: number;
  @IsWhen() as_of!: string;
}

class CaseBefore {
  @Nested(() => ObservedAnswer) observed!: ObservedAnswer;
  @ListOf(() => CheckResult) checks!: CheckResult[];
  @Doc('Whether what was observed or a check differs from the run looked at.')
  @IsBoolean()
  differs!: boolean;
}

export class CaseResult {
  @Doc('Place in the dataset, from 0.') @IsInt() case!: number;
  @Doc('Question and expectation.') @Nested(() => EvalCase) asked!: EvalCase;
  @Nested(() => ObservedAnswer) observed!: ObservedAnswer;
  @ListOf(() => CheckResult) checks!: CheckResult[];
  @Doc('The same case in the run of `compare_to`.')
  @IsOptional()
  @Nested(() => CaseBefore)
  before?: CaseBefore;
}

@Doc('`datasets`, or `dataset` with `cases` and `runs`, or `run` with `results`.')
export class Intelligence {
  @Doc('Latest first.')
  @IsOptional()
  @ListOf(() => DatasetView)
  datasets?: DatasetView[];
  @IsOptional() @Nested(() => DatasetView) dataset?: DatasetView;
  @IsOptional() @ListOf(() => EvalCase) cases?: EvalCase[];
  @Doc('Latest first.')
  @IsOptional()
  @ListOf(() => RunView)
  runs?: RunView[];
  @IsOptional() @Nested(() => RunView) run?: RunView;
  @Doc('The run of `compare_to`.')
  @IsOptional()
  @Nested(() => RunView)
  compared_to?: RunView;
  @IsOptional()
  @ListOf(() => CaseResult)
  results?: CaseResult[];
  @IsPosition() position!: string;
  @IsOptional() @IsText() next_cursor?: string;
}
