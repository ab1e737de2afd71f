import { Module } from '@nestjs/common';
import { ListEventsHandler } from './handlers.js';
import { LedgerController } from './ledger.controller.js';

@Module({ controllers: [LedgerController], providers: [ListEventsHandler] })
export class EventLogModule {}
