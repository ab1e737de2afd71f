import { Module } from '@nestjs/common';
import * as handlers from './handlers.js';

@Module({ providers: Object.values(handlers) })
export class SourcesModule {}

export { CaptureSource } from './messages.js';
