import { IsArray, IsBoolean, IsIn, IsOptional } from 'class-validator';
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
import { CandidateTopic, ReadAxes, SourceRef } from './contract.js';

export const CONFLICT_STATUSES = ['open', 'resolved', 'dismissed'] as const;
export type ConflictStatus = (typeof CONFLICT_STATUSES)[number];

export class ConflictsInput extends ReadAxes {
  @PageCursor() cursor?: string;
  @PageLimit('Conflicts in the page at most; default 50.') limit?: number;
  @Doc('Topic id, name or alias. One that is not recognised is said to be so.')
  @IsOptional()
  @IsText({ max: 400 })
  topic?: string;
  @Doc('Default open. As far as was known at `known_at`.')
  @IsOptional()
  @IsIn([...CONFLICT_STATUSES, 'all'])
  status?: ConflictStatus | 'all';
}

/** A claim of a conflict as far as was known. */
export class ConflictClaim {
  @IsText() decision_id!: string;
  @IsIn(['approved', 'superseded', 'revoked']) state!: string;
  @Doc('Untrusted text.') @IsText({ max: 8_000 }) statement!: string;
  @IsOptional() @IsValue() value?: Json;
  @IsScope() scope!: Record<string, string>;
  @IsOptional() @IsWhen() effective_from?: string;
  @IsOptional() @IsWhen() effective_to?: string;
  @ListOf(() => SourceRef) sources!: SourceRef[];
}

export class Conflict {
  @IsText() conflict_id!: string;
  @IsText() topic!: string;
  @Doc(
    'same_scope: different values for one scope. overlapping_scopes: neither scope is an exception to the other.',
  )
  @IsIn(['same_scope', 'overlapping_scopes'])
  kind!: string;
  @IsIn(CONFLICT_STATUSES) status!: ConflictStatus;
  @IsWhen() opened_at!: string;
  @ListOf(() => ConflictClaim) claims!: ConflictClaim[];
  @Doc('What evidence or act would settle it.')
  @IsArray()
  @IsText({ max: 8_000 }, { each: true })
  would_be_resolved_by!: string[];
  @IsOptional() @IsWhen() closed_at?: string;
  @IsOptional() @IsText() closed_by?: string;
  @Doc('The claim that prevailed, if one did.') @IsOptional() @IsText() winner?: string;
  @Doc('Untrusted text: why it was resolved or dismissed.')
  @IsOptional()
  @IsText({ max: 8_000 })
  reason?: string;
}

export class Conflicts {
  @Doc('In the order in which they opened.')
  @ListOf(() => Conflict)
  conflicts!: Conflict[];
  @Doc('False: no one topic bears the name, so the list says nothing about it.')
  @IsBoolean()
  filter_recognised!: boolean;
  @Doc('What the list leaves unsaid.') @IsOptional() @IsText({ max: 8_000 }) note?: string;
  @Doc('Topics that share the name asked for.')
  @ListOf(() => CandidateTopic)
  candidate_topics!: CandidateTopic[];
  @IsPosition() position!: string;
  @IsOptional() @IsText() next_cursor?: string;
}

export class ResolveConflictInput {
  @Doc('As find_conflicts shows it.') @IsText({ max: 400 }) conflict_id!: string;
  @Doc(
    'resolve: one claim prevails. dismiss: the claims are not incompatible and hold side by side.',
  )
  @IsIn(['resolve', 'dismiss'])
  action!: 'resolve' | 'dismiss';
  @Doc('Resolve: the claim that prevails; it must be approved. The others end where it begins.')
  @IsOptional()
  @IsText({ max: 400 })
  winner_decision_id?: string;
  @IsText({ max: 2_000, what: 'a reason' }) reason!: string;
}

export class ResolveConflictReceipt {
  @IsText() conflict_id!: string;
  @IsIn(['resolved', 'dismissed']) status!: string;
  @Doc('Decisions that the winner supersedes hereby.')
  @IsArray()
  @IsText({}, { each: true })
  superseded!: string[];
  @Doc('What the winner does not settle, because it holds at another time.')
  @IsArray()
  @IsText({}, { each: true })
  conflicts_opened!: string[];
  @Doc('Other conflicts that end with it.')
  @IsArray()
  @IsText({}, { each: true })
  conflicts_closed!: string[];
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}

export class RateInput {
  @Doc('As resolve_decision_state returned it.') @IsText({ max: 200 }) call_id!: string;
  @Doc('Was the answer right?')
  @IsIn(['correct', 'partly', 'incorrect'])
  rating!: 'correct' | 'partly' | 'incorrect';
  @Doc('What was wrong, or missing.') @IsOptional() @IsText({ max: 2_000 }) comment?: string;
}

export class RateReceipt {
  @IsText() call_id!: string;
  @IsWhen() recorded_at!: string;
  @Doc('Pass it as `at_least` to read your write from any server.') @IsPosition() position!: string;
}
