import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import { Doc, IsKnownAt, IsPosition, IsText, ListOf, Nested } from '#kernel/shape-decorators.js';

export const ONTOLOGY_OPERATIONS = [
  'add_topic',
  'rename_topic',
  'add_alias',
  'remove_alias',
  'set_parent',
  'set_succession',
  'describe_topic',
  'remove_topic',
  'merge_topics',
  'add_dimension',
  'remove_dimension',
  'add_value',
  'set_value_parent',
  'remove_value',
  'set_dimension_open',
  'add_source_type',
  'remove_source_type',
  'set_authority',
  'remove_authority',
] as const;

export const SUCCESSIONS = ['stated', 'by_effective_date'] as const;
export const ROLES = ['member', 'approver', 'admin', 'owner'] as const;
const NAME = { max: 200, what: 'a name' };
const DESCRIPTION = { max: 2_000, what: 'a description' };
/** Documented limits of what one call may hand in; those of the whole ontology are in `domain/ontology-step.ts`. */
export const ONTOLOGY_INPUT = {
  operations: 200,
  description: 100_000,
  topics: 200,
  values: 200,
} as const;

export class ScopeValue {
  @IsText(NAME) value!: string;
  @Doc('The value above it: a decision for that one also holds for this one.')
  @IsOptional()
  @IsText(NAME)
  parent?: string;
}

class DraftTopic {
  @IsText(NAME) name!: string;
  @IsOptional() @IsArray() @ArrayMaxSize(50) @IsText(NAME, { each: true }) aliases?: string[];
  @Doc('The topic above it.') @IsOptional() @IsText(NAME) parent?: string;
  @IsOptional() @IsIn(SUCCESSIONS) succession?: 'stated' | 'by_effective_date';
  @IsOptional() @IsText(DESCRIPTION) description?: string;
}

class DraftDimension {
  @IsText(NAME) name!: string;
  @IsOptional()
  @ListOf(() => ScopeValue, { max: ONTOLOGY_INPUT.values })
  values?: ScopeValue[];
  @Doc('Whether values that are not declared may be used; default true.')
  @IsOptional()
  @IsBoolean()
  open?: boolean;
  @IsOptional() @IsText(DESCRIPTION) description?: string;
}

export class DraftSourceType {
  @IsText(NAME) name!: string;
  @IsOptional() @IsText(DESCRIPTION) description?: string;
}

class DraftRule {
  @Doc('A topic, or `*` for every topic without a rule of its own.') @IsText(NAME) topic!: string;
  @IsOptional() @IsText(NAME) source_type?: string;
  @Doc('The role that may approve.')
  @IsOptional()
  @IsIn(ROLES)
  role?: 'member' | 'approver' | 'admin' | 'owner';
  @Doc('Principals who may approve.')
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @IsText(NAME, { each: true })
  persons?: string[];
  @Doc('The higher one prevails where several rules fit; default 0.')
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(1_000)
  precedence?: number;
}

@Doc('Topics, scope dimensions, source types and rules of authority.')
export class OntologyDraft {
  @IsOptional()
  @ListOf(() => DraftTopic, { max: ONTOLOGY_INPUT.topics })
  topics?: DraftTopic[];
  @IsOptional()
  @ListOf(() => DraftDimension, { max: 16 })
  dimensions?: DraftDimension[];
  @IsOptional()
  @ListOf(() => DraftSourceType, { max: 100 })
  source_types?: DraftSourceType[];
  @IsOptional()
  @ListOf(() => DraftRule, { max: 200 })
  authority?: DraftRule[];
}

export class StartOntologyInput {
  @Doc(
    'What the ontology is for. Without a draft its Markdown is read: lists under headings "Topics", "Scopes", "Source types", "Authority".',
  )
  @IsText({ max: ONTOLOGY_INPUT.description, what: 'a description' })
  description!: string;
  @Doc('The same in parts; then the description is kept but not read.')
  @IsOptional()
  @Nested(() => OntologyDraft)
  draft?: OntologyDraft;
}

/** One class for every operation: strict clients take no alternatives in a list. A field that has no meaning for `op` is refused. */
export class OntologyChange {
  @Doc('What to do.') @IsIn(ONTOLOGY_OPERATIONS) op!: (typeof ONTOLOGY_OPERATIONS)[number];
  @Doc('Id, name or alias of a topic; `*` in a rule of authority for every topic.')
  @IsOptional()
  @IsText({ max: 400 })
  topic?: string;
  @Doc('The topic’s name, or its new one.') @IsOptional() @IsText(NAME) name?: string;
  @IsOptional() @IsText(NAME) alias?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(50) @IsText(NAME, { each: true }) aliases?: string[];
  @Doc('The topic or value above; leave it out of set_parent or set_value_parent for none.')
  @IsOptional()
  @IsText({ max: 400 })
  parent?: string;
  @Doc('merge_topics: the topic that stays.') @IsOptional() @IsText({ max: 400 }) into?: string;
  @Doc('by_effective_date: a later effective date replaces an earlier one in the same scope.')
  @IsOptional()
  @IsIn(SUCCESSIONS)
  succession?: 'stated' | 'by_effective_date';
  @IsOptional() @IsText(DESCRIPTION) description?: string;
  @Doc('Name of a scope dimension, such as region.') @IsOptional() @IsText(NAME) dimension?: string;
  @IsOptional() @IsText(NAME) value?: string;
  @Doc('add_dimension: its values, each after the one above it.')
  @IsOptional()
  @ListOf(() => ScopeValue, { max: ONTOLOGY_INPUT.values })
  values?: ScopeValue[];
  @Doc('Whether values that are not declared may be used.')
  @IsOptional()
  @IsBoolean()
  open?: boolean;
  @IsOptional() @IsText(NAME) source_type?: string;
  @Doc('set_authority: the role that may approve.')
  @IsOptional()
  @IsIn(ROLES)
  role?: 'member' | 'approver' | 'admin' | 'owner';
  @Doc('set_authority: principals who may approve.')
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @IsText(NAME, { each: true })
  persons?: string[];
  @Doc('set_authority: the higher one prevails where several rules fit.')
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(1_000)
  precedence?: number;
}

export class EditOntologyInput {
  @Doc(
    'propose a change, approve or reject a proposal, or prepare a rollback (which is a proposal).',
  )
  @IsIn(['propose', 'approve', 'reject', 'rollback'])
  action!: 'propose' | 'approve' | 'reject' | 'rollback';
  @Doc('propose: the steps, each on the result of the one before.')
  @IsOptional()
  @ListOf(() => OntologyChange, { min: 1, max: ONTOLOGY_INPUT.operations })
  change?: OntologyChange[];
  @Doc('propose: the version that you looked at; refused when another is active by now.')
  @IsOptional()
  @IsInt()
  @Min(0)
  base_version?: number;
  @Doc('approve, reject: the proposal.') @IsOptional() @IsText({ max: 100 }) proposal_id?: string;
  @Doc('approve: hash of the proposal as you inspected it.')
  @IsOptional()
  @IsText({ max: 64 })
  content_hash?: string;
  @Doc('rollback: the version to go back to.') @IsOptional() @IsInt() @Min(1) to_version?: number;
  @Doc('Why. Needed to reject.') @IsOptional() @IsText({ max: 2_000 }) reason?: string;
}

export class OntologyInput {
  @Doc('Also give the ontology of this version.') @IsOptional() @IsInt() @Min(1) version?: number;
  @Doc('Recorded time: what did the ledger know then? Default everything.')
  @IsOptional()
  @IsKnownAt()
  known_at?: string;
  @PageCursor(20, 'The `next_cursor` of the page of versions before.') cursor?: string;
  @PageLimit('Versions in the page at most; default 20.') limit?: number;
  @IsOptional() @IsPosition() at_least?: string;
}
