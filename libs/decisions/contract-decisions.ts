import { IsBoolean, IsOptional } from 'class-validator';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import { Doc, IsPosition, IsText, ListOf, Nested } from '#kernel/shape-decorators.js';
import { DecisionView, ReadAxes } from './contract.js';
import { DecidedSince, DecidedUntil, DecidedWindow } from './contract-decided.js';

export class DecisionsInput extends ReadAxes {
  @DecidedSince() decided_since?: string;
  @DecidedUntil() decided_until?: string;
  @Doc('Topic id, name or alias.') @IsOptional() @IsText({ max: 400 }) topic?: string;
  @Doc('Also decisions that no longer hold at `as_of`.')
  @IsOptional()
  @IsBoolean()
  include_ended?: boolean;
  @PageCursor(500) cursor?: string;
  @PageLimit('Decisions in the page at most; default 50.') limit?: number;
}

export class Decisions {
  @Doc('Approved ones, those decided last first.')
  @ListOf(() => DecisionView)
  decisions!: DecisionView[];
  @Nested(() => DecidedWindow) decided!: DecidedWindow;
  @Doc('Zone in which dates and day words were read.') @IsText() zone!: string;
  @IsPosition() position!: string;
  @IsOptional() @IsText() next_cursor?: string;
}
