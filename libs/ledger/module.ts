import { Module, type DynamicModule } from '@nestjs/common';
import type { EventStore } from '#event-store/event-store.js';
import { Streams } from '#event-store/streams.js';
import { ReadModels } from '#projections/read-models.js';
import { LOG, RECEIPTS } from '#projections/tokens.js';
import { ListEventsHandler } from './handlers.js';
import { GetLogKeysHandler, RotateLogKeyHandler } from './handlers-keys.js';
import * as log from './handlers-log.js';
import { LedgerController } from './ledger.controller.js';
import { LogController } from './log.controller.js';
import { LogEvents } from './signing/log-events.js';
import { LogService, type LogOptions } from './signing/log-service.js';
import { LedgerReceipts } from './signing/receipts.js';

@Module({})
export class EventLogModule {
  /** `isDense`: every number up to the end of the log is a position, as it is on all engines but a cluster. */
  static around(options: LogOptions, isDense: boolean): DynamicModule {
    return {
      module: EventLogModule,
      global: true,
      controllers: [LedgerController, LogController],
      providers: [
        ListEventsHandler,
        GetLogKeysHandler,
        RotateLogKeyHandler,
        ...Object.values(log),
        {
          provide: LogService,
          inject: [Streams, ReadModels],
          useFactory: (streams: Streams, models: ReadModels) =>
            new LogService(streams, models, options),
        },
        {
          provide: LogEvents,
          inject: [LOG, ReadModels],
          useFactory: (log: EventStore, models: ReadModels) => new LogEvents(log, models, isDense),
        },
        {
          provide: RECEIPTS,
          inject: [ReadModels, LogEvents, LogService],
          useFactory: (models: ReadModels, events: LogEvents, log: LogService) =>
            new LedgerReceipts(models, events, log),
        },
      ],
      exports: [RECEIPTS],
    };
  }
}

export { LogService, type LogOptions, type LogStatus } from './signing/log-service.js';
export type { LogKeys } from './signing/log-keys.js';
