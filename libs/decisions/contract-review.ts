import { ArrayMaxSize, IsArray, IsIn, IsOptional } from 'class-validator';
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
} from '#kernel/shape-decorators.js';

export class PendingInput {
  @PageCursor() cursor?: string;
  @PageLimit('Items in the page at most; default 50.') limit?: number;
  @IsOptional() @IsPosition() at_least?: string;
  @IsOptional() @IsText({ max: 400 }) topic?: string;
  @IsOptional() @IsIn(['candidate', 'conflict', 'ontology', 'dataset']) kind?: string;
}

export class PendingItem {
  @IsIn(['candidate', 'conflict', 'ontology', 'dataset']) kind!: string;
  @IsText() id!: string;
  @IsOptional() @IsText() topic?: string;
  @Doc('Untrusted text.') @IsOptional() @IsText({ max: 8_000 }) statement?: string;
  @IsOptional() @IsValue() value?: Json;
  @IsOptional() @IsScope() scope?: Record<string, string>;
  @Doc('Why it awaits a review.')
  @IsArray()
  @IsText({ max: 8_000 }, { each: true })
  reasons!: string[];
  @Doc('Name it when you approve, so that only what you inspected is approved.')
  @IsText()
  content_hash!: string;
  @IsText() proposed_by!: string;
  @IsWhen() since!: string;
}

export class Pending {
  @ListOf(() => PendingItem) items!: PendingItem[];
  @IsPosition() position!: string;
  @IsOptional() @IsText() next_cursor?: string;
}

export class ReviewInput {
  @IsText({ max: 400 }) decision_id!: string;
  @Doc('approve, reject or retract a candidate; revoke an approved decision.')
  @IsIn(['approve', 'reject', 'revoke', 'retract'])
  action!: 'approve' | 'reject' | 'revoke' | 'retract';
  @IsText({ max: 2_000, what: 'a reason' }) reason!: string;
  @Doc(
    'Hash of the decision as you inspected it; whatever the action, it is refused when it is another by now.',
  )
  @IsOptional()
  @IsText({ max: 64 })
  content_hash?: string;
  @Doc('Approve: the decisions that this one replaces. Default: what the candidate itself states.')
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @IsText({ max: 400 }, { each: true })
  supersedes?: string[];
  @Doc('Approve: the known decision that already replaced this one (history recorded late).')
  @IsOptional()
  @IsText({ max: 400 })
  superseded_by?: string;
  @Doc('Approve: start of validity. Revoke: when it ceases to hold; default now.')
  @IsOptional()
  @IsWhen()
  effective_from?: string;
  @IsOptional() @IsWhen() effective_to?: string;
  @Doc('Approve: the topic of a candidate that has none yet.')
  @IsOptional()
  @IsText({ max: 400 })
  topic?: string;
}

export class ReviewReceipt {
  @IsText() decision_id!: string;
  @IsIn(['approved', 'rejected', 'revoked', 'retracted', 'superseded', 'confirming'])
  state!: string;
  @IsText() topic!: string;
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
  @IsArray() @IsText({}, { each: true }) conflicts_opened!: string[];
}
