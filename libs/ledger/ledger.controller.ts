import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { CallerOf, Input, Operation } from '#http/operation.js';
import type { Caller } from '#kernel/context.js';
import { Events, EventsInput } from './contract.js';
import { ListEvents } from './messages.js';

@Controller('v1')
export class LedgerController {
  constructor(private readonly queries: QueryBus) {}

  @Operation('GET', 'events', 'What was recorded, in the order of the log', EventsInput, Events)
  events(@CallerOf() caller: Caller, @Input() input: EventsInput) {
    return this.queries.execute(new ListEvents(caller, input));
  }
}
