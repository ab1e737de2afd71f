import { Command } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';

/** Takes the one use of a request state; a Refusal `request_state_spent` for every later one, on whatever server. */
export class SpendRequestState extends Command<void> {
  constructor(
    readonly caller: Caller,
    /** Unguessable, drawn by the server that handed the state out. */
    readonly id: string,
    readonly tool: string,
    readonly question: string,
  ) {
    super();
  }
}
