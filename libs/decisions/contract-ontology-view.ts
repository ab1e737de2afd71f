import { IsArray, IsBoolean, IsIn, IsInt, IsOptional } from 'class-validator';
import { Doc, IsPosition, IsText, IsWhen, ListOf, Nested } from '#kernel/shape-decorators.js';
import { DraftSourceType, ROLES, ScopeValue, SUCCESSIONS } from './contract-ontology.js';

export class OntologyDifference {
  @IsIn(['added', 'removed', 'changed', 'merged']) kind!: string;
  @IsIn(['topic', 'dimension', 'value', 'source_type', 'authority']) what!: string;
  @Doc('Topic id, dimension, dimension=value, source type or topic/source type.')
  @IsText({ max: 1_000 })
  id!: string;
  @Doc('Which property changed.') @IsOptional() @IsText() field?: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ min: 0, max: 20_000 }) before?: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ min: 0, max: 20_000 }) after?: string;
}

export class OntologyProposal {
  @IsText() proposal_id!: string;
  @IsIn(['ontology', 'change', 'rollback']) kind!: string;
  @Doc('outdated: another version became active since; it can no longer be approved.')
  @IsIn(['open', 'outdated', 'approved', 'rejected'])
  status!: string;
  @IsInt() base_version!: number;
  @IsOptional() @IsInt() to_version?: number;
  @Doc('Name it when you approve, so that only what you inspected is approved.')
  @IsText()
  content_hash!: string;
  @IsText() proposed_by!: string;
  @IsWhen() proposed_at!: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) reason?: string;
  @IsOptional() @IsText() decided_by?: string;
  @IsOptional() @IsWhen() decided_at?: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) decision_reason?: string;
  @Doc('What it changes in its base, the first 100 differences.')
  @ListOf(() => OntologyDifference)
  diff!: OntologyDifference[];
  @IsInt() diff_total!: number;
}

export class OntologyReceipt {
  @IsText() proposal_id!: string;
  @IsText() content_hash!: string;
  @Nested(() => OntologyProposal) proposal!: OntologyProposal;
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}

export class EditOntologyReceipt {
  @IsText() proposal_id!: string;
  @IsIn(['open', 'approved', 'rejected']) status!: string;
  @IsText() content_hash!: string;
  @Doc('approve: the version that became active.') @IsOptional() @IsInt() version?: number;
  @Doc('The first 100 differences.')
  @ListOf(() => OntologyDifference)
  diff!: OntologyDifference[];
  @IsInt() diff_total!: number;
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}

class OntologyTopicView {
  @IsText() id!: string;
  @IsText({ max: 200 }) name!: string;
  @Doc('Former names are among them.') @IsArray() @IsText({}, { each: true }) aliases!: string[];
  @IsOptional() @IsText() parent?: string;
  @IsIn(SUCCESSIONS) succession!: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) description?: string;
}

class OntologyDimensionView {
  @IsText() name!: string;
  @ListOf(() => ScopeValue) values!: ScopeValue[];
  @IsBoolean() open!: boolean;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) description?: string;
}

class OntologyRuleView {
  @IsText() topic!: string;
  @IsOptional() @IsText() source_type?: string;
  @IsOptional() @IsIn(ROLES) role?: string;
  @IsArray() @IsText({}, { each: true }) persons!: string[];
  @IsInt() precedence!: number;
}

class TopicMerge {
  @IsText() topic!: string;
  @IsText() into!: string;
}

export class OntologyContentView {
  @Doc('0: none is active yet.') @IsInt() version!: number;
  @ListOf(() => OntologyTopicView)
  topics!: OntologyTopicView[];
  @ListOf(() => OntologyDimensionView)
  dimensions!: OntologyDimensionView[];
  @ListOf(() => DraftSourceType)
  source_types!: DraftSourceType[];
  @ListOf(() => OntologyRuleView)
  authority!: OntologyRuleView[];
  @Doc('Topics that were joined with another one, oldest first.')
  @ListOf(() => TopicMerge)
  merged!: TopicMerge[];
}

export class OntologyVersion {
  @IsInt() version!: number;
  @IsText() proposal_id!: string;
  @IsIn(['ontology', 'change', 'rollback']) kind!: string;
  @IsOptional() @IsInt() to_version?: number;
  @IsText() proposed_by!: string;
  @IsText() approved_by!: string;
  @IsWhen() approved_at!: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 2_000 }) reason?: string;
  @IsPosition() position!: string;
  @Doc('What it changed in the version before, the first 100 differences.')
  @ListOf(() => OntologyDifference)
  diff!: OntologyDifference[];
  @IsInt() diff_total!: number;
}

export class Ontology {
  @Nested(() => OntologyContentView) active!: OntologyContentView;
  @Doc('The version asked for.')
  @IsOptional()
  @Nested(() => OntologyContentView)
  requested?: OntologyContentView;
  @Doc('Latest first.')
  @ListOf(() => OntologyVersion)
  versions!: OntologyVersion[];
  @Doc('Open proposals, then the latest 20 that were decided or are outdated.')
  @ListOf(() => OntologyProposal)
  proposals!: OntologyProposal[];
  @IsPosition() position!: string;
  @IsOptional() @IsText() next_cursor?: string;
}
