import { Module } from '@nestjs/common';
import { ErasureController } from './erasure.controller.js';
import * as handlers from './handlers.js';
import * as erasureHandlers from './handlers-erasure.js';
import * as holdHandlers from './handlers-holds.js';

@Module({
  controllers: [ErasureController],
  providers: [
    ...Object.values(handlers),
    ...Object.values(erasureHandlers),
    ...Object.values(holdHandlers),
  ],
})
export class SourcesModule {}

export { erasureReaction, finishErasures } from './reactions/erasure.js';
export { CaptureSource } from './messages.js';
