import { Command, Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type {
  Erasure,
  ErasureIdInput,
  ErasureInput,
  Erasures,
  ErasuresInput,
  Hold,
  HoldInput,
  Holds,
  HoldsInput,
  ReleaseInput,
} from './contract-erasure.js';

/** Destroys the key of a subject. Once done it cannot be undone; asked for again, it answers with the same erasure. */
export class EraseSubject extends Command<Erasure> {
  constructor(
    readonly caller: Caller,
    readonly input: ErasureInput,
  ) {
    super();
  }
}

export class PlaceLegalHold extends Command<Hold> {
  constructor(
    readonly caller: Caller,
    readonly input: HoldInput,
  ) {
    super();
  }
}

export class ReleaseLegalHold extends Command<Hold> {
  constructor(
    readonly caller: Caller,
    readonly input: ReleaseInput,
  ) {
    super();
  }
}

export class GetErasure extends Query<Erasure> {
  constructor(
    readonly caller: Caller,
    readonly input: ErasureIdInput,
  ) {
    super();
  }
}

export class ListErasures extends Query<Erasures> {
  constructor(
    readonly caller: Caller,
    readonly input: ErasuresInput,
  ) {
    super();
  }
}

export class ListLegalHolds extends Query<Holds> {
  constructor(
    readonly caller: Caller,
    readonly input: HoldsInput,
  ) {
    super();
  }
}
