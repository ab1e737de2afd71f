import { randomUUID } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { workspaceView } from '#access/index.js';
import { originOf, Streams } from '#event-store/streams.js';
import { Refusal } from '#kernel/refusal.js';
import { isoMs } from '#kernel/time.js';
import { ReadModels } from '#projections/read-models.js';
import type { RateReceipt } from './contract-conflicts.js';
import { keyOfCall, unknownCall } from './domain/answer.js';
import { RateAnswer } from './messages.js';
import { answerStream, answerStreams } from './streams.js';

@CommandHandler(RateAnswer)
export class RateAnswerHandler implements ICommandHandler<RateAnswer> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
  ) {}

  async execute({ caller, input }: RateAnswer): Promise<RateReceipt> {
    const { settings } = this.models.now((reads) => workspaceView(reads, caller.workspace));
    if (!settings.answerCapture) throw captureDisabled();
    const { call_id: callId, rating, comment } = input;
    const key = keyOfCall(callId);
    if (key === undefined) throw unknownCall(callId);
    const by = caller.principal;
    const done = await this.streams.execute(
      answerStreams,
      answerStream(caller.workspace, key),
      {
        type: 'Rate',
        callId,
        by,
        rating: { rating, ...(comment === undefined ? {} : { comment }) },
      },
      originOf(caller, randomUUID()),
    );
    const rated = done.state.status === 'given' ? done.state.ratings.get(by) : undefined;
    return {
      call_id: callId,
      recorded_at: isoMs(rated?.atMs ?? 0),
      position: String(done.position),
    };
  }
}

function captureDisabled(): Refusal {
  return new Refusal('conflict', 'capture_disabled', 'this workspace does not capture answers', {
    path: 'call_id',
    issues: [{ path: 'call_id', problem: 'no answer is captured for rating' }],
    fix: 'an admin or owner can enable answer capture for the workspace; earlier answers stay without a call_id',
  });
}
