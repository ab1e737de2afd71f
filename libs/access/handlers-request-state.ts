import { randomUUID } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { originOf, Streams } from '#event-store/streams.js';
import { requestStateCodec } from './domain/request-state.events.js';
import { requestStateDecider } from './domain/request-state.js';
import { SpendRequestState } from './messages-request-state.js';

const kind = { decider: requestStateDecider, codec: requestStateCodec, transient: true };

@CommandHandler(SpendRequestState)
export class SpendRequestStateHandler implements ICommandHandler<SpendRequestState> {
  constructor(private readonly streams: Streams) {}

  /** A random command id: the same use sent again must not be taken for a retry that succeeded. */
  async execute({ caller, id, tool, question }: SpendRequestState): Promise<void> {
    await this.streams.execute(
      kind,
      `requeststate-${caller.workspace}-${id}`,
      { type: 'Spend', id, tool, question },
      originOf(caller, randomUUID()),
    );
  }
}
