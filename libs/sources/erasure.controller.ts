import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { CallerOf, Input, Operation } from '#http/operation.js';
import type { Caller } from '#kernel/context.js';
import {
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
import {
  EraseSubject,
  GetErasure,
  ListErasures,
  ListLegalHolds,
  PlaceLegalHold,
  ReleaseLegalHold,
} from './messages-erasure.js';

@Controller('v1')
export class ErasureController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation('POST', 'erasures', 'Erase a subject or a source', ErasureInput, Erasure)
  erase(@CallerOf() caller: Caller, @Input() input: ErasureInput) {
    return this.commands.execute(new EraseSubject(caller, input));
  }

  @Operation('GET', 'erasures', 'What was erased', ErasuresInput, Erasures)
  erasures(@CallerOf() caller: Caller, @Input() input: ErasuresInput) {
    return this.queries.execute(new ListErasures(caller, input));
  }

  @Operation(
    'GET',
    'erasures/:erasure_id',
    'An erasure with its signed certificate',
    ErasureIdInput,
    Erasure,
  )
  erasure(@CallerOf() caller: Caller, @Input() input: ErasureIdInput) {
    return this.queries.execute(new GetErasure(caller, input));
  }

  @Operation('POST', 'legal-holds', 'Keep a subject or a source from erasure', HoldInput, Hold)
  hold(@CallerOf() caller: Caller, @Input() input: HoldInput) {
    return this.commands.execute(new PlaceLegalHold(caller, input));
  }

  @Operation('GET', 'legal-holds', 'What may not be erased', HoldsInput, Holds)
  holds(@CallerOf() caller: Caller, @Input() input: HoldsInput) {
    return this.queries.execute(new ListLegalHolds(caller, input));
  }

  @Operation('POST', 'legal-holds/:hold_id/release', 'End a legal hold', ReleaseInput, Hold)
  release(@CallerOf() caller: Caller, @Input() input: ReleaseInput) {
    return this.commands.execute(new ReleaseLegalHold(caller, input));
  }
}
