import { Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type { Events, EventsInput } from './contract.js';

export class ListEvents extends Query<Events> {
  constructor(
    readonly caller: Caller,
    readonly input: EventsInput,
  ) {
    super();
  }
}
