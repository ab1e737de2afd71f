import { Command } from '@nestjs/cqrs';
import type { Origin } from '#event-store/streams.js';
import type { SourceDetails } from './domain/source.js';

/** Records a captured text whose blob is stored already. Recorded once, however often it is sent. */
export class CaptureSource extends Command<void> {
  constructor(
    readonly details: SourceDetails,
    readonly origin: Origin,
  ) {
    super();
  }
}
