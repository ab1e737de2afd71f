import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Streams } from '#event-store/streams.js';
import { sourceCodec } from './domain/source.events.js';
import { sourceDecider } from './domain/source.js';
import { CaptureSource } from './messages.js';

const kind = { decider: sourceDecider, codec: sourceCodec };

@CommandHandler(CaptureSource)
export class CaptureSourceHandler implements ICommandHandler<CaptureSource> {
  constructor(private readonly streams: Streams) {}

  async execute({ details, origin }: CaptureSource): Promise<void> {
    const stream = `source-${origin.workspace}-${details.source_id}`;
    await this.streams.execute(kind, stream, { type: 'Capture', details }, origin);
  }
}
