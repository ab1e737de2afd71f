import { IsBoolean, IsIn, IsInt, IsOptional } from 'class-validator';
import { PageLimit } from '#kernel/paging.js';
import { Doc, IsPosition, IsText, ListOf, Nested, OrNull } from '#kernel/shape-decorators.js';

export const EVENTS_PAGE_MAX = 500;

export class EventsInput {
  @Doc(
    'Give the events after this position: the `next` of the page before, unchanged. Default: from the first.',
  )
  @IsOptional()
  @IsPosition()
  after?: string;
  @PageLimit('Events of the log that are looked at for one page.', EVENTS_PAGE_MAX)
  limit?: number;
}

export class EventActor {
  @IsText() principal!: string;
  @IsIn(['person', 'agent', 'service', 'system']) kind!: 'person' | 'agent' | 'service' | 'system';
  @Doc('Public part of the credential.') @OrNull() @IsText() credential!: string | null;
}

export class LedgerEvent {
  @IsPosition() position!: string;
  @IsText({ max: 400 }) stream!: string;
  @IsInt() revision!: number;
  @IsText() id!: string;
  @IsText() type!: string;
  @IsInt() version!: number;
  @IsText() recorded_at!: string;
  @Nested(() => EventActor) actor!: EventActor;
  @Doc('Id of the command that caused it.') @IsText() causation!: string;
  @Doc('Shared by everything that one request caused.') @IsText() correlation!: string;
  @Doc('Canonical JSON as it is stored and hashed. Untrusted text.')
  @IsText({ max: 900_000 })
  payload!: string;
}

export class Events {
  @ListOf(() => LedgerEvent) events!: LedgerEvent[];
  @Doc('Pass as `after` for what follows; it stays valid for ever.') @IsPosition() next!: string;
  @Doc('Nothing followed when this page was read.') @IsBoolean() at_end!: boolean;
}
